"""Commits send their statements to PostgreSQL in one message, inside the transaction that is open or due."""

import signal
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from threading import Timer
from uuid import UUID

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.errors import ForeignKeyViolation, UndefinedTable, UniqueViolation
from psycopg.pq import TransactionStatus
from psycopg.types.json import Jsonb

from llm_app.sql.one_message import execute
from tests.server import POSTGRES
from tests.waiting import until

INSERT = "INSERT INTO said VALUES (%s) RETURNING word"
FREQUENT = 8  # executions after which a statement is prepared


@pytest.fixture
def connection():
    try:
        opened = psycopg.connect(f"{POSTGRES}/postgres", connect_timeout=2)
    except psycopg.OperationalError:
        pytest.skip("no PostgreSQL here")
    with opened:
        opened.execute("CREATE TEMPORARY TABLE said (word text PRIMARY KEY)")
        opened.commit()
        yield opened


@contextmanager
def _traced(connection):
    """Record the messages that libpq sends (F) and receives (B) in the block. The lists are filled at its end."""
    heard = []
    with tempfile.NamedTemporaryFile("w+") as trace:
        connection.pgconn.trace(trace.fileno())
        yield heard
        connection.pgconn.untrace()
        heard += [tuple(line.split("\t")[1:4]) for line in open(trace.name)]


def _round_trips(messages):
    return [direction for direction, _ in groupby(direction for direction, *_ in messages)].count("B")


def _say(connection, *words):
    return [answer.fetchall()[0][0] for answer in execute(connection, [(INSERT, [word]) for word in words])]


def _said(connection):
    return [word for (word,) in connection.execute("SELECT word FROM said ORDER BY word")]


def test_all_statements_are_one_message_with_one_answer_each(connection):
    for number in range(FREQUENT):
        words = [f"{number}{letter}" for letter in "abc"]
        with _traced(connection) as messages:
            assert _say(connection, *words) == words
        assert _round_trips(messages) == 1
        connection.commit()
    assert len(_said(connection)) == 3 * FREQUENT


def test_frequent_statements_are_parsed_once_even_after_a_rollback(connection):
    for number in range(FREQUENT):
        _say(connection, f"{number}")
        if number % 3 == 2:
            connection.rollback()
        connection.commit()
    for number in range(FREQUENT):
        _say(connection, f"again {number}")
    with _traced(connection) as messages:
        _say(connection, "one", "two")
    assert not [kind for _, _, kind in messages if kind == "Parse"]
    connection.rollback()
    assert _say(connection, "one", "two") == ["one", "two"]


def test_the_newest_hundred_statements_stay_prepared(connection):
    for number in range(180):
        for _ in range(FREQUENT):
            ((row,),) = (answer.rows for answer in execute(connection, [(f"SELECT {number} + %s::int", [1])]))
            assert row == (number + 1,)
    (answer,) = execute(connection, [("SELECT count(*) FROM pg_prepared_statements", [])])
    assert 90 < answer.rows[0][0] <= 101


def test_nothing_is_prepared_if_preparing_is_disabled(connection):
    connection.prepare_threshold = None
    for number in range(FREQUENT):
        _say(connection, str(number))
    assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (0,)


def test_values_are_converted_as_by_a_cursor(connection):
    values = [None, True, 7, 70_000, 1 << 40, "ä %s $1", UUID(int=5), datetime(2026, 1, 2, 3, tzinfo=UTC), 1.5, b"\0\1"]
    casts = ["text", "bool", "int", "int", "bigint", "text", "uuid", "timestamptz", "float8", "bytea"]
    sql = f"SELECT {', '.join(f'%s::{cast}' for cast in casts)}, %s::jsonb"
    ordinary = connection.execute(sql, [*values, Jsonb({"a": [1]})]).fetchall()
    for _ in range(FREQUENT):
        (answer,) = execute(connection, [(sql, [*values, Jsonb({"a": [1]})])])
        assert (answer.rows, answer.rowcount) == (ordinary, 1)


def test_rows_are_counted(connection):
    _say(connection, "one", "two")
    counts = [answer.rowcount for answer in execute(connection, [("UPDATE said SET word = word || %s", ["!"])] * 2)]
    assert counts == [2, 2]
    (answer,) = execute(connection, [("DELETE FROM said WHERE word = %s", ["three"])])
    assert answer.rowcount == 0


def test_the_transaction_is_open_until_it_is_committed_or_rolled_back(connection):
    _say(connection, "one", "two")
    assert connection.info.transaction_status == TransactionStatus.INTRANS
    connection.rollback()
    _say(connection, "three")
    connection.commit()
    assert _said(connection) == ["three"]


def test_the_transaction_begins_like_those_of_the_connection(connection):
    connection.isolation_level = IsolationLevel.SERIALIZABLE
    _say(connection, "one")
    assert connection.execute("SHOW transaction_isolation").fetchone() == ("serializable",)


def test_autocommit_begins_no_transaction(connection):
    connection.autocommit = True
    _say(connection, "one")
    assert connection.info.transaction_status == TransactionStatus.IDLE
    assert _said(connection) == ["one"]


def test_an_open_transaction_begins_no_other(connection):
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("INSERT INTO said VALUES ('zero')")
    _say(connection, "one")
    _say(connection, "two")
    assert notices == []
    connection.rollback()
    assert _said(connection) == []


@pytest.mark.parametrize("times", [1, FREQUENT])
def test_a_failing_statement_raises_and_rolls_back_the_message(connection, times):
    for number in range(times):
        _say(connection, f"{number}")
    connection.commit()
    with pytest.raises(UniqueViolation):
        _say(connection, "two", "0", "three")
    assert connection.info.transaction_status == TransactionStatus.INERROR
    connection.rollback()
    assert len(_said(connection)) == times
    assert _say(connection, "four") == ["four"]


def test_statements_after_a_failure_do_not_count_as_prepared(connection):
    """PostgreSQL received nothing of the sixth execution."""
    connection.autocommit = True
    for number in range(5):
        _say(connection, f"{number}")
    with pytest.raises(UndefinedTable):
        execute(connection, [("UPDATE nowhere SET word = %s", ["?"]), (INSERT, ["lost"])])
    assert _say(connection, "five") == ["five"]


def test_a_failure_forgets_deallocated_statements(connection):
    connection.autocommit = True
    for letter in "abc":
        for number in range(FREQUENT):
            _say(connection, f"{letter}{number}")
        with pytest.raises(UniqueViolation):
            _say(connection, f"{letter}0")
    connection.execute("SELECT 1")
    assert _say(connection, "one") == ["one"]


def test_a_deferred_constraint_raises_an_integrity_error(connection):
    connection.autocommit = True
    connection.execute("CREATE TEMPORARY TABLE answered (word text REFERENCES said DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(ForeignKeyViolation):
        execute(connection, [("INSERT INTO answered VALUES (%s)", ["nobody"])])
    assert _say(connection, "one") == ["one"]


def test_an_invalid_value_leaves_the_connection_usable(connection):
    with pytest.raises(psycopg.ProgrammingError, match="cannot adapt"):
        _say(connection, "one", object())
    assert _say(connection, "two") == ["two"]
    connection.commit()
    assert _said(connection) == ["two"]


def test_a_partly_written_message_leaves_no_transaction_open(connection):
    """Send a statement that libpq cannot write after one that it has written: no transaction stays open."""
    too_many = list(range(66_000))
    sql = f"SELECT 1 WHERE 1 IN ({', '.join(['%s'] * len(too_many))})"
    with pytest.raises(psycopg.OperationalError):
        execute(connection, [(INSERT, ["one"]), (sql, too_many)])
    assert connection.closed


def test_a_lost_connection_is_closed_and_reports_the_servers_message(connection):
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])
    with pytest.raises(psycopg.OperationalError, match="due to administrator command"):
        _say(connection, "one")
    assert connection.closed
    with pytest.raises(psycopg.OperationalError):
        _say(connection, "one")


def test_a_connection_lost_during_a_wait_is_closed(connection):
    with pytest.raises(psycopg.OperationalError, match="due to administrator command"):
        execute(connection, [(INSERT, ["one"]), ("SELECT pg_terminate_backend(pg_backend_pid(), %s)", [5000])])
    assert connection.closed


def test_an_interrupted_statement_is_cancelled_on_the_server(connection):
    pid = connection.info.backend_pid
    before = signal.signal(signal.SIGUSR1, signal.default_int_handler)  # the test runner may ignore SIGINT
    interruption = Timer(0.2, signal.raise_signal, [signal.SIGUSR1])
    interruption.start()
    with pytest.raises(KeyboardInterrupt):
        execute(connection, [("SELECT pg_sleep(%s)", [60])])
    interruption.join()
    signal.signal(signal.SIGUSR1, before)
    assert connection.closed
    with psycopg.connect(f"{POSTGRES}/postgres", autocommit=True) as other:
        until(lambda: not other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone())


def test_closing_the_connection_in_another_thread_ends_a_wait(connection):
    closing = Timer(0.2, connection.close)
    closing.start()
    began = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        execute(connection, [("SELECT pg_sleep(%s)", [60])])
    assert time.monotonic() - began < 30


def test_threads_take_turns(connection):
    connection.autocommit = True
    with ThreadPoolExecutor(4) as threads:
        said = threads.map(lambda number: _say(connection, *(f"{number} {word}" for word in "ab")), range(100))
        assert list(said) == [[f"{number} a", f"{number} b"] for number in range(100)]


def test_messages_larger_than_the_socket_buffer_arrive(connection):
    words = [letter * 3_000_000 for letter in "abc"]
    answers = execute(connection, [("SELECT %s::text", [word]) for word in words])
    assert [answer.fetchall() for answer in answers] == [[(word,)] for word in words]
