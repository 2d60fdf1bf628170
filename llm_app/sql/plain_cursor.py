"""The database's own cursor, where nobody listens to what is executed: without the four calls of Django's for each."""

from contextlib import suppress
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper


class plain_cursor:  # noqa: N801  used as a function; a generator would take twice as long to enter and leave
    """Gives one for a block, and closes it. Raises Django's errors, as its own cursor would."""

    def __init__(self, database: BaseDatabaseWrapper) -> None:
        self._database = database

    def __enter__(self) -> Any:
        self._cursor = new_cursor(self._database)
        return self._cursor

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._cursor.close()
            return
        with suppress(self._database.Database.Error):  # type: ignore[attr-defined]  # Django's stubs leave it out
            self._cursor.close()
        self._database.wrap_database_errors.__exit__(kind, error, trace)


def new_cursor(database: BaseDatabaseWrapper) -> Any:
    """To be closed, or forgotten. Django's own where somebody listens."""
    if is_heard(database):
        return database.cursor()
    make_ready(database)
    with database.wrap_database_errors:
        return database.create_cursor()


def make_ready(database: BaseDatabaseWrapper) -> None:
    """As Django does before it makes a cursor."""
    database.close_if_health_check_failed()
    database.ensure_connection()
    database.validate_no_broken_transaction()


def is_heard(database: BaseDatabaseWrapper) -> bool:
    """Whether somebody listens to what is executed."""
    return bool(database.execute_wrappers or database.queries_logged)
