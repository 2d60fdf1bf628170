"""Calls whose arguments are not valid JSON go back as JSON that says so, so that strict servers keep answering."""

from collections.abc import Callable

import pytest

from llm_app import protocols
from llm_app.models import LLMLog
from tasks_app import services
from tests import strict_provider
from tests.provider import Answer, FakeProvider, Received, Reply, openai_call, openai_result
from tests.tasks_app.engine.conftest import Run

BROKEN = ['{"action": "read", "path": "a', "no json", '["read", "a.txt"]', '"read"', '{"a": NaN}', '{"a": "\t"}']
BROKEN.append('{"a":' * 3000 + "1" + "}" * 3000)  # too deep for Python


def agent(arguments: str) -> Answer:
    """A model that calls once with these arguments, then answers."""

    def answer(received: Received) -> Reply:
        called = any(message.get("tool_calls") for message in received.body["messages"])
        return openai_result() if called else openai_call("file", arguments)

    return answer


@pytest.mark.parametrize("arguments", BROKEN, ids=lambda text: text[:10])
def test_the_task_and_the_session_go_on(
    arguments: str, ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    http_provider.replies = [strict_provider.strict(agent(arguments), window=1_000_000)]
    for run in (ask_http(), ask_http("Again.")):
        assert (run.advance().state, run.task.failure_detail) == ("done", "")
    assert run.results()[0][0] == "failed"
    assert not LLMLog.objects.exclude(status="succeeded").exists()


def test_arguments_that_are_an_object_go_back_as_the_model_wrote_them(
    ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    written = '{ "path":"ö.txt",  "action" : "read" }'
    http_provider.replies = [openai_call("file", written), openai_result()]
    ask_http().advance()
    (call,) = http_provider.received[-1].body["messages"][-2]["tool_calls"]
    assert call["function"]["arguments"] == written


def test_requests_of_the_version_before_are_rebuilt_as_they_were_sent(
    ask_http: Callable[..., Run], http_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fixture `owner` rebuilds each request and compares it with the sent one."""
    newest = protocols.adapter_for("openai_native").version
    monkeypatch.setitem(protocols._BUILT_IN, "openai_native", protocols.adapter_of("openai_native", 1))
    http_provider.replies = [openai_call("file", BROKEN[0]), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    (call,) = http_provider.received[-1].body["messages"][-2]["tool_calls"]
    assert call["function"]["arguments"] == BROKEN[0]
    assert set(LLMLog.objects.values_list("adapter_version", flat=True)) == {1}
    monkeypatch.undo()
    services.post_message(run.task.session, run.task.started_by, "Again.")
    assert Run(run.task.session.tasks.latest("created_at")).advance().state == "done"
    assert set(LLMLog.objects.values_list("adapter_version", flat=True)) == {1, newest}
