"""A database backend: Django's for SQLite, with a queue of writers."""
