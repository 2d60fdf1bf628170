"""A database backend: Django's for PostgreSQL, which says at once to whoever waits for an answer that it is away."""
