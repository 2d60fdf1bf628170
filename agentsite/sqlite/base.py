"""Writers of one process take turns before they reach SQLite, which has one lock for all and wakes waiters by chance.

Measured with 100 messages at once on two cores: 50 of them ended as “database is locked” after 20 s; in a queue none.
Other processes still meet at SQLite's own lock, with its own timeout.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from threading import Lock
from typing import Any

from django.db import OperationalError
from django.db.backends.sqlite3 import base
from django.db.backends.utils import debug_transaction  # type: ignore[attr-defined]  # not in Django's stubs
from django.utils.asyncio import async_unsafe

from tasks_app.text.retrieval import fold
from tasks_app.text.said import said_in

PATIENCE_SECONDS = 60.0  # a burst of 200 messages is written in less; then somebody holds the lock for good
MOST_IDLE = 4  # connections that wait to be used again: each knows the schema and statements, a MiB or two
_UNLOGGED = nullcontext()
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class WriterQueue:
    """A lock that its waiters get in the order in which they came: the first in the queue has it.

    Every step is a single operation of a deque, so that `leave` may also be called by a finalizer, at any moment.
    """

    def __init__(self) -> None:
        self._turns: deque[Lock] = deque()

    def join(self, seconds: float) -> "Lock | None":
        """Waits for its turn, and returns it; None if it has not come after so many seconds."""
        turn, has_come = Lock(), False
        turn.acquire()
        self._turns.append(turn)
        try:
            has_come = self._turns[0] is turn or turn.acquire(timeout=seconds)
        finally:
            if not has_come:
                self.leave(turn)
        return turn if has_come else None

    def leave(self, turn: "Lock") -> None:
        self._turns.remove(turn)
        with suppress(IndexError, RuntimeError):  # nobody waits, or who does has heard it before
            self._turns[0].release()


_queues: dict[str, WriterQueue] = {}  # by database file
_idle: dict[str, "deque[Any]"] = {}  # connections, the newest last


class Cursor(base.SQLiteCursorWrapper):
    """Finds once what a text does and where the marks of its parameters are. What it writes, it writes in its turn."""

    database: "DatabaseWrapper"

    def execute(self, query: str, params: Any = None) -> Any:
        if self.database.has_turn or not _writes(query):
            return self._execute(query, params)
        with self.database.turn():
            return self._execute(query, params)

    def executemany(self, query: str, param_list: Any) -> Any:
        with nullcontext() if self.database.has_turn or not _writes(query) else self.database.turn():
            return super().executemany(query, param_list)

    def _execute(self, query: str, params: Any) -> Any:
        if type(params) is list or type(params) is tuple:
            return sqlite3.Cursor.execute(self, _converted(query), params)
        return super().execute(query, params)


@lru_cache(maxsize=512)
def _converted(query: str) -> str:
    return str(base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%"))


@lru_cache(maxsize=512)
def _writes(query: str) -> bool:
    return query.lstrip()[:7].upper().startswith(_WRITES)


class DatabaseWrapper(base.DatabaseWrapper):
    """Has its turn from BEGIN to the end of the transaction, or for one statement outside of any. Reads never wait."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._turn: Lock | None = None

    def get_new_connection(self, conn_params: Any) -> Any:
        try:
            return self._idle.pop()
        except IndexError:
            connection = super().get_new_connection(conn_params)
            connection.create_function("FOLD", 1, lambda text: text and fold(text), deterministic=True)
            connection.create_function("SAID", 1, lambda call: call and fold(said_in(call)), deterministic=True)
            return connection

    @async_unsafe
    def ensure_connection(self) -> None:
        """Takes one that waits: what is known of a connection is as it was when this one was left to others."""
        if self.connection is None and self.autocommit and not self.closed_in_transaction:
            with suppress(IndexError):
                self.connection = self._idle.pop()
        if self.connection is None:
            super().ensure_connection()

    def close_if_unusable_or_obsolete(self) -> None:
        """Whoever has nothing to ask now leaves its connection to the next who has, with the statements it knows."""
        super().close_if_unusable_or_obsolete()
        if self.connection is None or self.in_atomic_block or self.connection.in_transaction:
            return
        if len(self._idle) < MOST_IDLE:
            self._idle.append(self.connection)
            self.connection = None
        else:
            self.close()

    @property
    def _idle(self) -> "deque[Any]":
        return _idle.setdefault(str(self.settings_dict["NAME"]), deque())

    @property
    def _queue(self) -> WriterQueue:
        name = str(self.settings_dict["NAME"])
        return _queues.get(name) or _queues.setdefault(name, WriterQueue())

    def create_cursor(self, name: str | None = None) -> Cursor:
        cursor: Cursor = self.connection.cursor(factory=Cursor)
        cursor.database = self
        return cursor

    def _start_transaction_under_autocommit(self) -> None:
        self._join()
        try:
            begin = f"BEGIN {self.transaction_mode}"  # type: ignore[attr-defined]  # Django's stubs leave it out
            with self._logged(begin), self.wrap_database_errors:
                self.connection.execute(begin)
        except BaseException:
            self._leave()
            raise

    def _logged(self, statement: str) -> AbstractContextManager[None]:
        """Django makes a note of when it began and ended also where nobody reads it."""
        return debug_transaction(self, statement) if self.queries_logged else _UNLOGGED

    def _commit(self) -> None:
        if self.connection is not None:
            with self._logged("COMMIT"), self.wrap_database_errors:
                self.connection.commit()

    def commit(self) -> None:
        super().commit()
        self._leave()

    def rollback(self) -> None:
        super().rollback()
        self._leave()

    def close(self) -> None:
        super().close()
        self._leave()

    def __del__(self) -> None:
        """Of a thread that ended inside a transaction: SQLite rolls back what its connection had begun."""
        self._leave()

    @property
    def has_turn(self) -> bool:
        return self._turn is not None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """For one statement."""
        self._join()
        try:
            yield
        finally:
            self._leave()

    def _join(self) -> None:
        self._turn = self._queue.join(PATIENCE_SECONDS)
        if self._turn is None:
            raise OperationalError(f"database is locked: other writers of this process for {PATIENCE_SECONDS:.0f} s")

    def _leave(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            self._queue.leave(turn)
