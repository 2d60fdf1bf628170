"""What a program gets of LLM calls: the very bytes, and nothing that is not its user's."""

import hashlib
from typing import Any

import pytest

from llm_app.models import LLMLog, Secret
from tasks_app import services
from tasks_app.models import ContextEntry, Task
from tasks_app.worker import jobs
from tests import factories
from tests.tasks_app.engine.conftest import call, result, script

SECRET = "s3cr3t-abcdefgh-1234"


@pytest.fixture
def ran(transactional_db: None, session: Any, alice: Any) -> Task:
    """A task of two steps that has ended."""
    words = script(call("message", type="info", text=f"About {SECRET}."), result())
    task = services.post_message(session, alice, words).task
    jobs.advance(task.pk)
    task.refresh_from_db()
    assert task.state == "done"
    return task


def test_each_call_is_listed_with_what_it_used(ran: Task, alices: Any) -> None:
    page = alices.call("GET", f"tasks/{ran.id}/llm-calls/").json()
    assert [(row["iteration"], row["status"], row["purpose"]) for row in page["results"]] == [
        (1, "succeeded", "step"),
        (2, "succeeded", "step"),
    ]
    assert page["results"][0]["usage"]["input_tokens"] > 0
    assert "error" not in page["results"][0]


def test_the_request_is_what_was_sent(ran: Task, alices: Any) -> None:
    for log in LLMLog.objects.all():
        response = alices.call("GET", f"llm-calls/{log.id}/request/")
        assert response["Content-Type"] == "application/json"
        assert hashlib.sha256(response.content).hexdigest() == log.request_sha256
        assert "X-Request-Redacted" not in response


def test_what_became_secret_since_is_redacted_and_that_is_said(ran: Task, alices: Any, alice: Any) -> None:
    Secret.objects.create(owner=alice, name="TOKEN", value=SECRET)
    log = LLMLog.objects.latest("created_at")
    response = alices.call("GET", f"llm-calls/{log.id}/request/")
    assert SECRET.encode() not in response.content
    assert response["X-Request-Redacted"] == "true"


def test_a_request_that_the_record_no_longer_holds_is_409(ran: Task, alices: Any) -> None:
    ContextEntry.objects.filter(seq=1).update(content="Something else.")
    response = alices.call("GET", f"llm-calls/{LLMLog.objects.first().id}/request/")
    assert response.status_code == 409
    assert response["Content-Type"] == "application/problem+json"


def test_others_get_404_and_readers_all(ran: Task, program: Any, bob: Any, charlie: Any) -> None:
    log = LLMLog.objects.first()
    for path in (f"tasks/{ran.id}/llm-calls/", f"llm-calls/{log.id}/request/"):
        assert program(charlie).call("GET", path).status_code == 404
        assert program(bob).call("GET", path).status_code == 200


def test_a_call_of_no_session_is_nobodys(alices: Any) -> None:
    assert alices.call("GET", f"llm-calls/{factories.log().id}/request/").status_code == 404
