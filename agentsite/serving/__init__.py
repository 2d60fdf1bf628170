"""The parts of `manage.py serve`: the first start, the lock against a second server, the worker, and the web."""
