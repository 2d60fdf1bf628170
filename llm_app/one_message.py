"""Statements go to PostgreSQL in one message.

Psycopg's pipeline sends one for each, which costs more than the statement, and waits for the answer to BEGIN
(`pipeline_communicate` and `_start_query`). So this uses `psycopg.pq`, its interface to libpq; values are written and
read, and statements prepared, by what its cursors have for it.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, compress, count
from select import POLLIN, POLLOUT, poll
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Connection, abc
from psycopg._preparing import Prepare
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from llm_app.plain_cursor import make_ready

_transformers = WeakKeyDictionary[Connection[Any], abc.Transformer]()  # each knows how to write the types it has seen


class Statement(Protocol):
    sql: str
    parameters: list[Any]

    def take(self, cursor: Any) -> None:
        """Its answer."""


class Answer(NamedTuple):
    """What a cursor would tell of it."""

    rows: list[Any]
    rowcount: int

    def fetchall(self) -> list[Any]:
        return self.rows


class _Query(NamedTuple):
    """By its text and types, Psycopg knows whether it is prepared."""

    query: bytes
    types: tuple[int, ...]
    values: Sequence[Any]
    formats: Sequence[Any]


class _Sent(NamedTuple):
    """Of each result that will come: whether it is the answer. And what Psycopg now knows, if it is new."""

    are_answers: Sequence[bool]
    new: tuple[Any, Prepare, bytes] | None


def execute_at_once(database: BaseDatabaseWrapper, statements: Sequence[Statement]) -> None:
    """In their order; one round trip. Raises Django's errors, and what a statement raises at its answer."""
    make_ready(database)
    with database.wrap_database_errors:
        answers = execute(database.connection, [(statement.sql, statement.parameters) for statement in statements])
    for statement, answer in zip(statements, answers, strict=True):
        statement.take(answer)


def execute(connection: Connection[Any], statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Answer]:
    """Texts with their values, after the BEGIN that is due. Raises Psycopg's error of the first that fails."""
    if (transformer := _transformers.get(connection)) is None:
        transformer = _transformers[connection] = Transformer(connection.adapters)
    queries = [_query(transformer, *statement) for statement in statements]
    with connection.lock:
        results = _exchange(connection, queries)
    return [_answer(transformer, result) for result in results]


def _query(transformer: abc.Transformer, sql: str, parameters: Sequence[Any]) -> _Query:
    values = transformer.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
    return _Query(_numbered(sql), transformer.types or (), values, transformer.formats or ())


@lru_cache(maxsize=512)
def _numbered(sql: str) -> bytes:
    """With $1 for its first %s. It has no other percent sign."""
    first, *others = sql.split("%s")
    return "".join([first, *(f"${number}{text}" for number, text in zip(count(1), others))]).encode()


def _exchange(connection: Connection[Any], queries: Sequence[_Query]) -> Sequence[PGresult]:
    """Half of a message is none: of its transaction, the server keeps nothing without the connection."""
    pgconn = connection.pgconn
    begins = pgconn.transaction_status == TransactionStatus.IDLE and not connection.autocommit
    try:
        pgconn.enter_pipeline_mode()
        if begins:
            pgconn.send_query_params(connection._get_tx_start_command(), None)
        sent = [_send(connection, query) for query in queries]
        pgconn.pipeline_sync()
        are_answers = [*[False] * begins, *chain.from_iterable(one.are_answers for one in sent)]
        results = _results(pgconn, len(are_answers))
        pgconn.exit_pipeline_mode()
    except BaseException:
        connection.close()
        raise
    _check(connection, results)
    answers = list(compress(results, are_answers))
    for one, answer in zip(sent, answers, strict=True):
        if one.new:
            connection._prepared.validate(*one.new, [answer])
    return answers


def _send(connection: Connection[Any], query: _Query) -> _Sent:
    pgconn, known = connection.pgconn, connection._prepared
    prepare, name = known.get(query)  # type: ignore[arg-type]  # as much of a query as it asks for
    if prepare is Prepare.NO:
        pgconn.send_query_params(query.query, query.values, query.types, query.formats)
    else:
        if prepare is Prepare.SHOULD:
            pgconn.send_prepare(name, query.query, query.types)
        pgconn.send_query_prepared(name, query.values, query.formats)
    key = known.maybe_add_to_cache(query, prepare, name)  # type: ignore[arg-type]
    return _Sent((False, True) if prepare is Prepare.SHOULD else (True,), (key, prepare, name) if key else None)


def _results(pgconn: PGconn, commands: int) -> Sequence[PGresult]:
    """One of each command. Raises OperationalError where the connection is lost."""
    wait = poll()
    wait.register(pgconn.socket, POLLIN | POLLOUT)
    while pgconn.flush():
        wait.poll()
        pgconn.consume_input()  # else both sides might wait for the other to read
    wait.modify(pgconn.socket, POLLIN)
    results = [_received(pgconn, wait) for _ in range(2 * commands + 1)]  # None after each; the end of the message
    return [result for result in results[:-1:2] if result is not None]


def _received(pgconn: PGconn, wait: poll) -> PGresult | None:
    while pgconn.is_busy():
        wait.poll()
        pgconn.consume_input()
    return pgconn.get_result()


def _check(connection: Connection[Any], results: Sequence[PGresult]) -> None:
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            connection._prepared.clear()  # what came after it is not prepared
            raise error_from_result(result)


def _answer(transformer: abc.Transformer, result: PGresult) -> Answer:
    if result.status != ExecStatus.TUPLES_OK:
        return Answer([], result.command_tuples or 0)
    transformer.set_pgresult(result)
    return Answer(transformer.load_rows(0, result.ntuples, tuple), result.ntuples)
