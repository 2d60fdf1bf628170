"""The database: reachable, up to date, and in the mode that many writers need."""

from contextlib import closing

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from agentsite.checks.messages import Finding, broken, fine

_NAME = "database"
_SECONDS = 2


def reachable() -> Finding:
    """Whether it takes a new connection: the pool would wait long for a server that is gone."""
    own = connection.copy()
    if connection.vendor == "postgresql":
        own.settings_dict["OPTIONS"] = {"connect_timeout": _SECONDS}
    try:
        with closing(own), own.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return broken(_NAME, f"The database cannot be reached: {_first_line(error)}.", "Check DATABASE_URL.")
    return fine(_NAME, f"{connection.display_name} answers.")


def migrations() -> Finding:
    """The database must be reachable."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return broken(
            "migrations", f"Not all migrations are applied: {len(missing)} missing.", "Run: manage.py migrate"
        )
    return fine("migrations", "All migrations are applied.")


def journal() -> Finding | None:
    """On SQLite: without a write-ahead log, readers and writers get in each other's way."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
    if mode != "wal":
        return broken("journal", f"SQLite's journal mode is {mode}, not wal.", "Keep the database on a local disk.")
    return fine("journal", "SQLite writes ahead (WAL).")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
