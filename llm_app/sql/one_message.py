"""Statements for PostgreSQL in one message, with the BEGIN that is due.

Psycopg's pipeline sends a message per statement, which takes longer than the statement, and waits for the result of
BEGIN. This module uses `psycopg.pq` instead, its interface to libpq, and psycopg's own functions for values and
prepared statements. It holds all names of psycopg that the documentation does not cover:
tests/llm_app/test_internals.py names each of them that an upgrade removes.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, count
from typing import Any, NamedTuple, Protocol, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Connection, Error, OperationalError, abc
from psycopg._preparing import Prepare
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from llm_app.sql.django_internals import check_connection

_Key: TypeAlias = tuple[bytes, tuple[int, ...]]


class ExecutableStatement(Protocol):
    sql: str
    parameters: list[Any]

    def read_result(self, cursor: Any) -> None: ...


class StatementResult(NamedTuple):
    """The part of a cursor that statements read."""

    rows: list[Any]
    rowcount: int

    def fetchall(self) -> list[Any]:
        return self.rows


class _Query(NamedTuple):
    """A query as psycopg's prepared statements need it. They are found by text and types."""

    query: bytes
    types: tuple[int, ...]
    values: Sequence[Any]
    formats: Sequence[Any]


def execute_together(database: BaseDatabaseWrapper, statements: Sequence[ExecutableStatement]) -> None:
    """Execute the statements in order in one round trip.

    Raises: Django's database errors, and the errors of `read_result`.
    """
    check_connection(database)
    with database.wrap_database_errors:
        results = execute(database.connection, [(statement.sql, statement.parameters) for statement in statements])
    for statement, result in zip(statements, results, strict=True):
        statement.read_result(result)


def execute(connection: Connection[Any], statements: Sequence[tuple[str, Sequence[Any]]]) -> list[StatementResult]:
    """Execute SQL with its parameters.

    Raises: psycopg's error of the first statement that fails.
    """
    with connection.lock:
        transformer = Transformer(connection)
        queries = [_query(transformer, *statement) for statement in statements]
        return [_result(transformer, result) for result in _Message(connection, queries).send()]


def _query(transformer: abc.Transformer, sql: str, parameters: Sequence[Any]) -> _Query:
    values = transformer.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
    return _Query(_numbered(sql), transformer.types or (), values, transformer.formats or ())


@lru_cache(maxsize=512)
def _numbered(sql: str) -> bytes:
    """Replace the first %s by $1, and so on. The SQL has no other percent sign."""
    first, *others = sql.split("%s")
    return "".join([first, *(f"${number}{text}" for number, text in zip(count(1), others))]).encode()


class _Message:
    """A message to the server, sent once."""

    def __init__(self, connection: Connection[Any], queries: Sequence[_Query]) -> None:
        self._connection, self._pgconn, self._prepared = connection, connection.pgconn, connection._prepared
        self._queries = queries
        self._are_statements: list[bool] = []  # for each expected result; False for BEGIN and PREPARE
        self._new: list[tuple[int, _Key, Prepare, bytes]] = []  # queries that psycopg has not seen, by position
        self._results: list[PGresult] = []

    def send(self) -> list[PGresult]:
        """Return the results of the statements.

        After an incomplete exchange the connection is closed, so that the server rolls the transaction back.
        """
        try:
            self._exchange()
        except BaseException as error:
            self._connection.close()
            if isinstance(error, OperationalError) and (last_error := self._first_error()):
                raise OperationalError(str(last_error)) from error
            raise
        results, failure = list(compress(self._results, self._are_statements)), self._first_error()
        self._update_prepared(results, is_valid=failure is None)
        if failure:
            raise failure
        return results

    def _exchange(self) -> None:
        self._pgconn.enter_pipeline_mode()
        self._begin()
        for position, query in enumerate(self._queries):
            self._write(position, query)
        self._pgconn.pipeline_sync()
        self._connection.wait(self._received())
        self._pgconn.exit_pipeline_mode()

    def _begin(self) -> None:
        if self._pgconn.transaction_status == TransactionStatus.IDLE and not self._connection.autocommit:
            self._pgconn.send_query_params(self._connection._get_tx_start_command(), None)
            self._are_statements.append(False)

    def _write(self, position: int, query: _Query) -> None:
        prepare, name = self._prepared.get(query)  # type: ignore[arg-type]  # it has the attributes that are read
        if prepare is Prepare.SHOULD:
            self._pgconn.send_prepare(name, query.query, query.types)
            self._are_statements.append(False)
        if prepare is Prepare.NO:
            self._pgconn.send_query_params(query.query, query.values, query.types, query.formats)
        else:
            self._pgconn.send_query_prepared(name, query.values, query.formats)
        self._are_statements.append(True)
        if key := self._prepared.maybe_add_to_cache(query, prepare, name):  # type: ignore[arg-type]
            self._new.append((position, key, prepare, name))

    def _received(self) -> abc.PQGen[None]:
        """Receive a result per command, and that of the end, before which a deferred constraint may still fail."""
        yield from send(self._pgconn)
        for _ in range(len(self._are_statements) + 2):
            results = yield from fetch_many(self._pgconn)
            if results and results[0].status == ExecStatus.PIPELINE_SYNC:
                return
            self._results += results

    def _first_error(self) -> Error | None:
        failed = [result for result in self._results if result.status == ExecStatus.FATAL_ERROR]
        return error_from_result(failed[0], self._connection.info.encoding) if failed else None

    def _update_prepared(self, results: Sequence[PGresult], *, is_valid: bool) -> None:
        """Tell psycopg which statements are prepared now. After an error, none is assumed to be."""
        if is_valid:
            for position, key, prepare, name in self._new:
                self._prepared.validate(key, prepare, name, [results[position]])
        else:
            self._prepared.clear()
        if self._pgconn.transaction_status != TransactionStatus.INERROR:  # a rollback runs this, too
            self._connection.wait(self._prepared.maintain_gen(self._connection))


def _result(transformer: abc.Transformer, result: PGresult) -> StatementResult:
    if result.status != ExecStatus.TUPLES_OK:
        return StatementResult([], result.command_tuples or 0)
    transformer.set_pgresult(result)
    return StatementResult(transformer.load_rows(0, result.ntuples, tuple), result.ntuples)
