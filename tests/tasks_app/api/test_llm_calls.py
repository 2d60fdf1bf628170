"""LLM calls over REST: exact request bytes, and access."""

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
    """Return an ended task of two steps."""
    words = script(call("message", type="info", text=f"About {SECRET}."), result())
    task = services.post_message(session, alice, words).task
    jobs.advance(task.pk)
    task.refresh_from_db()
    assert task.state == "done"
    return task


def test_calls_are_listed_with_their_usage(ran: Task, alices: Any) -> None:
    page = alices.call("GET", f"tasks/{ran.id}/llm-calls/").json()
    assert [(row["iteration"], row["status"], row["purpose"]) for row in page["results"]] == [
        (1, "succeeded", "step"),
        (2, "succeeded", "step"),
    ]
    assert page["results"][0]["usage"]["input_tokens"] > 0
    assert "error" not in page["results"][0]


def test_request_has_the_sent_bytes(ran: Task, alices: Any) -> None:
    for log in LLMLog.objects.all():
        response = alices.call("GET", f"llm-calls/{log.id}/request/")
        assert response["Content-Type"] == "application/json"
        assert hashlib.sha256(response.content).hexdigest() == log.request_sha256
        assert "X-Request-Redacted" not in response


def test_later_secrets_are_redacted_and_flagged(ran: Task, alices: Any, alice: Any) -> None:
    Secret.objects.create(owner=alice, name="TOKEN", value=SECRET)
    log = LLMLog.objects.latest("created_at")
    response = alices.call("GET", f"llm-calls/{log.id}/request/")
    assert SECRET.encode() not in response.content
    assert response["X-Request-Redacted"] == "true"


def test_request_missing_from_the_record_is_409(ran: Task, alices: Any) -> None:
    ContextEntry.objects.filter(seq=1).update(content="Something else.")
    response = alices.call("GET", f"llm-calls/{LLMLog.objects.first().id}/request/")
    assert response.status_code == 409
    assert response["Content-Type"] == "application/problem+json"


def test_readers_get_calls_and_others_404(ran: Task, program: Any, bob: Any, charlie: Any) -> None:
    log = LLMLog.objects.first()
    for path in (f"tasks/{ran.id}/llm-calls/", f"llm-calls/{log.id}/request/"):
        assert program(charlie).call("GET", path).status_code == 404
        assert program(bob).call("GET", path).status_code == 200


def test_call_without_a_session_is_404(alices: Any) -> None:
    assert alices.call("GET", f"llm-calls/{factories.log().id}/request/").status_code == 404
