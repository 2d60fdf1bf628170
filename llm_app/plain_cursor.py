"""The database's own cursor, where nobody listens to what is executed: without the four calls of Django's for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper


@contextmanager
def plain_cursor(database: BaseDatabaseWrapper) -> Iterator[Any]:
    """Raises Django's errors, as its own cursor would."""
    with database.cursor() as cursor, database.wrap_database_errors:
        yield plain(cursor)


def plain(cursor: CursorWrapper) -> Any:
    cursor.db.validate_no_broken_transaction()
    is_heard = cursor.db.queries_logged or cursor.db.execute_wrappers
    return cursor if is_heard else cursor.cursor
