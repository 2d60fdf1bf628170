"""After a failure of the database: connections that were cut off, too, are not handed out one after the other."""

from django.db import connection


def drop_broken_connections() -> None:
    """Closes this thread's connection, and those of the pool that are broken. Does not wait for the database."""
    if not connection.in_atomic_block:
        connection.close()
    pool = getattr(connection, "pool", None)
    if pool is not None and not pool.closed:
        pool.check()
