"""What `manage.py serve` is made of: the first start, the lock against a second server, the worker, the web."""
