"""The database's own cursor, where nobody listens to what is executed: without the four calls of Django's for each."""

from contextlib import suppress
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper


class plain_cursor:  # noqa: N801  used as a function; a generator would take twice as long to enter and leave
    """Gives one for a block, and closes it. Raises Django's errors, as its own cursor would."""

    def __init__(self, database: BaseDatabaseWrapper) -> None:
        self._database = database

    def __enter__(self) -> Any:
        database = self._database
        if is_heard(database):
            self._cursor: Any = database.cursor()
        else:
            database.close_if_health_check_failed()
            database.ensure_connection()
            database.validate_no_broken_transaction()
            with database.wrap_database_errors:
                self._cursor = database.create_cursor()
        return self._cursor

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._cursor.close()
            return
        with suppress(self._database.Database.Error):  # type: ignore[attr-defined]  # Django's stubs leave it out
            self._cursor.close()
        self._database.wrap_database_errors.__exit__(kind, error, trace)


def plain(cursor: CursorWrapper) -> Any:
    cursor.db.validate_no_broken_transaction()
    return cursor if is_heard(cursor.db) else cursor.cursor


def is_heard(database: BaseDatabaseWrapper) -> bool:
    """Whether somebody listens to what is executed."""
    return bool(database.execute_wrappers or database.queries_logged)
