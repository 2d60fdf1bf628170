"""Statements go to PostgreSQL in one message.

Psycopg's pipeline sends one for each, which costs more than the statement, and waits for the answer to BEGIN
(`pipeline_communicate` and `_start_query`).
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Connection, Pipeline
from psycopg.pq import TransactionStatus

from llm_app.plain_cursor import new_cursors


class Statement(Protocol):
    sql: str
    parameters: list[Any]

    def take(self, cursor: Any) -> None:
        """Its answer."""


def execute_at_once(database: BaseDatabaseWrapper, statements: Sequence[Statement]) -> None:
    """In their order; one round trip. Raises Django's errors, and what a statement raises at its answer."""
    cursors = new_cursors(database, len(statements))
    with database.wrap_database_errors:
        with one_message(database.connection):
            for cursor, statement in zip(cursors, statements, strict=True):
                cursor.execute(statement.sql, statement.parameters)
        for cursor, statement in zip(cursors, statements, strict=True):
            statement.take(cursor)


@contextmanager
def one_message(connection: Connection[Any]) -> Iterator[None]:
    """What its block executes is sent at the block's end, after the BEGIN that is due, and is answered then."""
    is_idle = connection.info.transaction_status == TransactionStatus.IDLE
    autocommit, connection._autocommit = connection.autocommit, True  # for as long as it shall begin nothing itself
    try:
        with connection.pipeline() as pipeline, _held_back(pipeline, connection):
            if is_idle and not autocommit:
                begin = connection._get_tx_start_command()
                pipeline.command_queue.append(partial(connection.pgconn.send_query_params, begin, None))
                pipeline.result_queue.append(None)
            yield
    finally:
        connection._autocommit = autocommit


@contextmanager
def _held_back(pipeline: Pipeline, connection: Connection[Any]) -> Iterator[None]:
    pipeline.command_queue = _Together(connection)
    pipeline._communicate_gen = lambda: iter(())  # type: ignore[assignment, method-assign, return-value]
    try:
        yield
    finally:
        del pipeline._communicate_gen


class _Together(deque[Callable[[], Any]]):
    """Commands that are taken as one: each writes into the buffer that is sent after it."""

    def __init__(self, connection: Connection[Any]) -> None:
        super().__init__()
        self._connection = connection

    def popleft(self) -> Callable[[], Any]:
        commands = list(self)
        self.clear()
        return lambda: self._run(commands)

    def _run(self, commands: Sequence[Callable[[], Any]]) -> None:
        """Half of a message is none: of its transaction, the server keeps nothing without the connection."""
        try:
            for command in commands:
                command()
        except BaseException:
            self._connection.close()
            raise
