"""SQLite's lock, held by another process longer than we wait: it is reported, and a task continues immediately."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from tasks_app import services
from tasks_app.worker import jobs
from tests import factories
from tests.tasks_app.api.conftest import Program
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tasks_app.pages.conftest import Browser

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]


@contextmanager
def locked() -> Iterator[None]:
    """Lock the database as another process would, and shorten our timeout."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 10")
    try:
        yield
    finally:
        other.close()
        connection.close()


@pytest.fixture
def session() -> Any:
    return factories.SessionFactory(model=factories.scripted_model("script"))


def test_api_returns_503_with_retry_after(session):
    program = Program(session.owner)
    with locked():
        answer = program.call("POST", f"sessions/{session.pk}/messages/", {"content": "Hello"})
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert int(answer["Retry-After"]) > 0
    assert "busy" in answer.json()["detail"]


@pytest.mark.parametrize("htmx", [False, True])
def test_page_explains_the_busy_database(session, htmx):
    browser = Browser(session.owner)
    headers = {"HX-Request": "true"} if htmx else {}
    with locked():
        answer = browser.post(f"/s/{session.pk}/messages/", {"content": "Hello"}, headers=headers)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "The database is busy. Try again in a few seconds." in answer.content.decode()
    assert ("<html" in answer.content.decode()) is not htmx


def test_task_continues_immediately_instead_of_after_its_lease(session, monkeypatch):
    words = script(call("file", action="list", path="."), result())
    run = Run(services.post_message(session, session.owner, words).task)
    woken: list[Any] = []
    monkeypatch.setattr(jobs, "enqueue", woken.append)
    with monkeypatch.context() as patch:
        patch.setattr(jobs.loop, "run", in_a_locked_database(jobs.loop.run))
        assert run.advance().state == "initializing"
    assert woken == [run.task.pk]
    assert run.advance().state == "done"


def in_a_locked_database(work: Any) -> Any:
    def wrapped(*args: Any) -> None:
        with locked():
            work(*args)

    return wrapped
