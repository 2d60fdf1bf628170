"""A task over OpenAI's Responses: reasoning returns with its call to the model that produced it."""

from typing import Any

import pytest

from llm_app.models import LLMLog, Secret
from tasks_app import services
from tests import factories
from tests.provider import Reply, sse
from tests.tasks_app.engine.conftest import Run
from tests.tasks_app.engine.test_replay import verified

MODEL = "gpt-5.6"


def reasoning(number: int, content: str = "gAAA==") -> dict[str, Any]:
    return {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": content, "status": None}


def reply(call_id: str, name: str, arguments: str, *items: dict[str, Any], words: str = "") -> Reply:
    """Return completed items, text in fragments, a call in fragments, and the end."""
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": place, "item": item} for place, item in enumerate(items)
    ]
    if words:
        events.append({"type": "response.output_text.delta", "output_index": 8, "delta": words})
    made = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
    events += [
        {"type": "response.output_item.added", "output_index": 9, "item": made | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": arguments},
        {"type": "response.output_item.done", "output_index": 9, "item": made | {"arguments": arguments}},
        {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 50}}},
    ]
    return Reply(chunks=sse(*events))


def result(call_id: str = "call_z", *items: dict[str, Any]) -> Reply:
    return reply(call_id, "message", '{"type": "result", "text": "Done."}', *items)


@pytest.fixture
def ask(owner: Any, http_provider: Any) -> Any:
    def start(*models: str) -> Run:
        row = factories.ProviderFactory(protocol="openai_responses", base_url=http_provider.base_url, timeout_s=5)
        model = factories.RouteFactory(provider=row, provider_model=models[0]).model
        for priority, name in enumerate(models[1:], 2):
            factories.RouteFactory(provider=row, provider_model=name, model=model, priority=priority)
        session = factories.SessionFactory(owner=owner, model=model)
        return Run(services.post_message(session, owner, "Go.").task)

    return start


def test_reasoning_goes_back_unchanged_and_every_request_can_be_rebuilt(ask: Any, http_provider: Any) -> None:
    first = reply("call_a", "file", '{"action": "list", "path": "."}', reasoning(1), words="I look.")
    http_provider.replies = [first, result("call_b", reasoning(2))]
    run = ask(MODEL)
    assert run.advance().final_result["text"] == "Done."
    assert http_provider.received[0].path == "/v1/responses"
    sent = http_provider.received[1].body["input"]
    assert sent[-4:-1] == [
        reasoning(1),
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"type": "function_call", "call_id": "call_a", "name": "file", "arguments": '{"action": "list", "path": "."}'},
    ]
    assert (sent[-1]["type"], sent[-1]["call_id"]) == ("function_call_output", "call_a")
    assert verified()[0] == 0
    assert LLMLog.objects.filter(adapter="openai_responses", input_tokens=50).count() == 2


def test_reasoning_does_not_go_to_another_model(ask: Any, http_provider: Any) -> None:
    first = reply("call_a", "file", '{"action": "list", "path": "."}', reasoning(1))
    overloaded = Reply(status=429, chunks=[b"{}"], content_type="application/json")
    http_provider.replies = [first, overloaded, result()]
    run = ask(MODEL, "gpt-5.5")
    assert run.advance().state == "done"
    same, other = (received.body for received in http_provider.received[1:])
    assert reasoning(1) in same["input"]
    assert other["model"] == "gpt-5.5"
    assert not [item for item in other["input"] if item.get("type") == "reasoning"]
    assert verified()[0] == 0


def test_reasoning_with_redactions_is_not_sent(ask: Any, http_provider: Any, owner: Any) -> None:
    Secret.objects.create(owner=owner, name="KEY", value="a-secret-value-1")
    first = reply("call_a", "file", '{"action": "list", "path": "."}', reasoning(1, "a-secret-value-1"))
    http_provider.replies = [first, result()]
    run = ask(MODEL)
    assert run.advance().state == "done"
    sent = http_provider.received[1]
    assert b"a-secret-value-1" not in sent.raw
    assert not [item for item in sent.body["input"] if item.get("type") == "reasoning"]
    assert verified()[0] == 0
