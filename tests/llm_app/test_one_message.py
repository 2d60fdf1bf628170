"""What a commit writes goes to PostgreSQL in one message, as part of the transaction that is open or due."""

import psycopg
import pytest
from psycopg import _pipeline_base
from psycopg.errors import UniqueViolation
from psycopg.pq import TransactionStatus

from llm_app.one_message import one_message
from tests.server import POSTGRES

INSERT = "INSERT INTO said VALUES (%s) RETURNING word"


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


@pytest.fixture
def messages(monkeypatch):
    """How many commands wait, each time that Psycopg sends some: one more message for each."""
    counts, communicate = [], _pipeline_base.pipeline_communicate

    def counted(pgconn, commands):
        def take():
            counts[-1] += 1
            return popleft()

        counts.append(0)
        popleft = commands.popleft
        commands.popleft = take
        return communicate(pgconn, commands)

    monkeypatch.setattr(_pipeline_base, "pipeline_communicate", counted)
    return counts


def _say(connection, *words):
    cursors = [connection.cursor() for _ in words]
    with one_message(connection):
        for cursor, word in zip(cursors, words, strict=True):
            cursor.execute(INSERT, [word])
    return [cursor.fetchone()[0] for cursor in cursors]


def _said(connection):
    return [word for (word,) in connection.execute("SELECT word FROM said ORDER BY word")]


def test_all_statements_are_one_message_and_each_has_its_answer(connection, messages):
    for number in range(8):  # by then they are prepared
        words = [f"{number}{letter}" for letter in "abc"]
        assert _say(connection, *words) == words
        connection.commit()
    assert messages == [1] * 8
    assert len(_said(connection)) == 24


def test_the_transaction_is_open_until_it_is_committed_or_rolled_back(connection):
    _say(connection, "one", "two")
    assert connection.info.transaction_status == TransactionStatus.INTRANS
    connection.rollback()
    _say(connection, "three")
    connection.commit()
    assert _said(connection) == ["three"]


def test_in_a_transaction_that_is_open_no_other_begins(connection):
    notices = []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("INSERT INTO said VALUES ('zero')")
    _say(connection, "one")
    _say(connection, "two")
    assert notices == []
    connection.rollback()
    assert _said(connection) == []


def test_a_statement_that_fails_is_raised_and_nothing_of_the_message_stays(connection):
    _say(connection, "one")
    connection.commit()
    with pytest.raises(UniqueViolation):
        _say(connection, "two", "one", "three")
    assert connection.info.transaction_status == TransactionStatus.INERROR
    connection.rollback()
    assert _said(connection) == ["one"]
    assert _say(connection, "four") == ["four"]


def test_a_value_that_cannot_be_sent_leaves_a_connection_that_can_be_used(connection):
    with pytest.raises(psycopg.ProgrammingError, match="cannot adapt"):
        _say(connection, "one", object())
    connection.rollback()
    assert _say(connection, "two") == ["two"]
    connection.commit()
    assert _said(connection) == ["two"]


def test_half_of_a_message_is_none(connection):
    """A statement that Psycopg cannot write, behind one that it has written: its transaction is not left open."""
    too_many = list(range(66_000))

    def write():
        with one_message(connection):
            connection.execute(INSERT, ["one"])
            connection.execute(f"SELECT 1 WHERE 1 IN ({', '.join(['%s'] * len(too_many))})", too_many)

    with pytest.raises(psycopg.OperationalError):
        write()
    assert connection.closed


def test_more_than_a_socket_takes_at_once_arrives(connection):
    words = [letter * 3_000_000 for letter in "abc"]
    cursors = [connection.cursor() for _ in words]
    with one_message(connection):
        for cursor, word in zip(cursors, words, strict=True):
            cursor.execute("SELECT %s::text", [word])
    assert [cursor.fetchone()[0] for cursor in cursors] == words
