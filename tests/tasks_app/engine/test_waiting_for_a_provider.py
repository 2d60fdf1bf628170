"""Waits between two attempts: a person still comes first, and the text that they saw is recorded once."""

import pytest

from llm_app.call import retry
from tasks_app import services
from tests.provider import Reply, openai_call
from tests.waiting import until


@pytest.fixture(autouse=True)
def _much_patience(monkeypatch):
    monkeypatch.setattr(retry, "_wait", lambda delay, jitter: retry.RetryDecision(retry.Action.RETRY, 60.0))


def test_a_stop_ends_the_wait_for_the_next_attempt(ask_http, http_provider):
    http_provider.replies = [Reply(status=429)]
    run = ask_http()
    thread = run.in_thread()
    until(lambda: "status_notice" in run.types)
    services.stop(run.task)
    thread.join(30)
    run.task.refresh_from_db()
    assert (run.task.failure_code, len(http_provider.received)) == ("stopped", 1)


def test_text_of_a_failed_attempt_is_recorded_once(ask_http, http_provider):
    http_provider.replies = [openai_call("message", {"type": "result", "text": "Half of the ans"}, cut=True)]
    run = ask_http()
    thread = run.in_thread()
    until(lambda: "status_notice" in run.types)
    services.stop(run.task)
    thread.join(30)
    partials = [entry for entry in run.entries if entry.context_type == "ai_message"]
    assert [(partial.content, partial.in_context) for partial in partials] == [("Half of the ans", False)]
