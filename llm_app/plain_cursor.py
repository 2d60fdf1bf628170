"""The database's own cursor, where nobody listens to what is executed: without the four calls of Django's for each."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper


class plain_cursor:  # noqa: N801  used as a function; a generator would take twice as long to enter and leave
    """Gives one for a block, and closes it. Raises Django's errors, as its own cursor would."""

    def __init__(self, database: BaseDatabaseWrapper) -> None:
        self._database = database

    def __enter__(self) -> Any:
        self._cursor = self._database.cursor()
        return plain(self._cursor)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._cursor.__exit__(kind, error, trace)
        if kind is not None:
            self._database.wrap_database_errors.__exit__(kind, error, trace)


def plain(cursor: CursorWrapper) -> Any:
    cursor.db.validate_no_broken_transaction()
    is_heard = cursor.db.queries_logged or cursor.db.execute_wrappers
    return cursor if is_heard else cursor.cursor
