"""A database backend: Django's for SQLite, with a queue for those who write."""
