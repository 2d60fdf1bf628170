"""Statements go to PostgreSQL in one message.

Psycopg's pipeline sends one for each, which costs more than the statement, and waits for the answer to BEGIN
(`pipeline_communicate` and `_start_query`). So this uses `psycopg.pq`, its interface to libpq; values are written and
read, and statements prepared, by what its cursors have for it.
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

_Key: TypeAlias = tuple[bytes, tuple[int, ...]]


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


def execute_at_once(database: BaseDatabaseWrapper, statements: Sequence[Statement]) -> None:
    """In their order; one round trip. Raises Django's errors, and what a statement raises at its answer."""
    database.close_if_health_check_failed()  # the three checks of BaseDatabaseWrapper.cursor()
    database.ensure_connection()
    database.validate_no_broken_transaction()
    with database.wrap_database_errors:
        answers = execute(database.connection, [(statement.sql, statement.parameters) for statement in statements])
    for statement, answer in zip(statements, answers, strict=True):
        statement.take(answer)


def execute(connection: Connection[Any], statements: Sequence[tuple[str, Sequence[Any]]]) -> list[Answer]:
    """Texts with their values, after the BEGIN that is due. Raises Psycopg's error of the first that fails."""
    with connection.lock:
        transformer = Transformer(connection)
        queries = [_query(transformer, *statement) for statement in statements]
        return [_answer(transformer, result) for result in _Message(connection, queries).answers()]


def _query(transformer: abc.Transformer, sql: str, parameters: Sequence[Any]) -> _Query:
    values = transformer.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
    return _Query(_numbered(sql), transformer.types or (), values, transformer.formats or ())


@lru_cache(maxsize=512)
def _numbered(sql: str) -> bytes:
    """With $1 for its first %s. It has no other percent sign."""
    first, *others = sql.split("%s")
    return "".join([first, *(f"${number}{text}" for number, text in zip(count(1), others))]).encode()


class _Message:
    """Is sent once."""

    def __init__(self, connection: Connection[Any], queries: Sequence[_Query]) -> None:
        self._connection, self._pgconn, self._known = connection, connection.pgconn, connection._prepared
        self._queries = queries
        self._are_answers: list[bool] = []  # of each result that is to come
        self._new: list[tuple[int, _Key, Prepare, bytes]] = []  # by their places: what Psycopg had not been asked yet
        self._results: list[PGresult] = []

    def answers(self) -> list[PGresult]:
        """Half of a message is none: of a transaction, the server keeps nothing without the connection."""
        try:
            self._exchange()
        except BaseException as error:
            self._connection.close()
            if isinstance(error, OperationalError) and (last_words := self._failure()):
                raise OperationalError(str(last_words)) from error
            raise
        answers, failure = list(compress(self._results, self._are_answers)), self._failure()
        self._remember(answers, is_valid=failure is None)
        if failure:
            raise failure
        return answers

    def _exchange(self) -> None:
        self._pgconn.enter_pipeline_mode()
        self._begin()
        for place, query in enumerate(self._queries):
            self._write(place, query)
        self._pgconn.pipeline_sync()
        self._connection.wait(self._received())
        self._pgconn.exit_pipeline_mode()

    def _begin(self) -> None:
        if self._pgconn.transaction_status == TransactionStatus.IDLE and not self._connection.autocommit:
            self._pgconn.send_query_params(self._connection._get_tx_start_command(), None)
            self._are_answers.append(False)

    def _write(self, place: int, query: _Query) -> None:
        prepare, name = self._known.get(query)  # type: ignore[arg-type]  # it is as much of one as is asked for
        if prepare is Prepare.SHOULD:
            self._pgconn.send_prepare(name, query.query, query.types)
            self._are_answers.append(False)
        if prepare is Prepare.NO:
            self._pgconn.send_query_params(query.query, query.values, query.types, query.formats)
        else:
            self._pgconn.send_query_prepared(name, query.values, query.formats)
        self._are_answers.append(True)
        if key := self._known.maybe_add_to_cache(query, prepare, name):  # type: ignore[arg-type]
            self._new.append((place, key, prepare, name))

    def _received(self) -> abc.PQGen[None]:
        """One result of each command, and that of the end, before which a constraint may still fail."""
        yield from send(self._pgconn)
        for _ in range(len(self._are_answers) + 2):
            results = yield from fetch_many(self._pgconn)
            if results and results[0].status == ExecStatus.PIPELINE_SYNC:
                return
            self._results += results

    def _failure(self) -> Error | None:
        """The first."""
        failed = [result for result in self._results if result.status == ExecStatus.FATAL_ERROR]
        return error_from_result(failed[0], self._connection.info.encoding) if failed else None

    def _remember(self, answers: Sequence[PGresult], *, is_valid: bool) -> None:
        """Psycopg keeps the newest hundred prepared statements, and none that may not be there."""
        if is_valid:
            for place, key, prepare, name in self._new:
                self._known.validate(key, prepare, name, [answers[place]])
        else:
            self._known.clear()
        if self._pgconn.transaction_status != TransactionStatus.INERROR:  # which ends with a rollback, and this with it
            self._connection.wait(self._known.maintain_gen(self._connection))


def _answer(transformer: abc.Transformer, result: PGresult) -> Answer:
    if result.status != ExecStatus.TUPLES_OK:
        return Answer([], result.command_tuples or 0)
    transformer.set_pgresult(result)
    return Answer(transformer.load_rows(0, result.ntuples, tuple), result.ntuples)
