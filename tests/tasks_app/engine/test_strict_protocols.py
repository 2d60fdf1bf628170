"""A long task in a small window, in every protocol, with a provider that refuses broken conversations."""

from dataclasses import replace
from itertools import count, pairwise
from typing import Any

import pytest

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.models import ContextCut, ContextEntry
from tests import factories, strict_provider
from tests.provider import Received, Reply
from tests.strict_conversation import fault_in
from tests.tasks_app.engine.conftest import Run
from tests.tasks_app.engine.protocols import PROTOCOLS, says
from tools_app.contract import registry
from tools_app.models import ToolSetting

WINDOW, REPLY, STEPS = 9_000, 400, 36
USED = ("file", "message", "plan", "recall")


@pytest.fixture
def session(owner: Any, http_provider: Any, protocol: str) -> Any:
    unused = [tool.name for tool in registry.all_tools() if tool.name not in USED]
    ToolSetting.objects.bulk_create(ToolSetting(name=name, enabled=False) for name in unused)
    row = factories.ProviderFactory(protocol=protocol, base_url=http_provider.base_url, timeout_s=30)
    model = factories.RouteFactory(provider=row, provider_model="m").model
    model.context_window, model.max_output_tokens = WINDOW, REPLY
    model.save()
    return factories.SessionFactory(owner=owner, model=model)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_call_has_its_result_and_each_request_begins_with_the_one_before(
    session: Any, owner: Any, http_provider: Any, protocol: str
) -> None:
    """A move of the cut is the exception: the next request begins differently."""
    steps = count(1)

    def answer(received: Received) -> Reply:
        step = next(steps)
        if step in (7, 21):
            services.post_message(session, owner, f"By the way, number {step}: mind the commas.")
        return _said(protocol, received, step, *_call(step))

    http_provider.replies = [strict_provider.strict(answer, window=WINDOW)]
    run = Run(services.post_message(session, owner, "Write many files.", max_iterations=100).task)
    task = run.advance()
    assert (task.state, task.failure_detail) == ("done", "")
    assert list(LLMLog.objects.filter(status="failed").values_list("error", flat=True)) == []
    assert _answers() == _calls()
    moves = ContextCut.objects.count()
    assert moves > 1
    newest = http_provider.received[-1].body
    assert fault_in(newest | {"messages": newest["messages"][:-1]})  # the provider would have refused others
    assert fault_in(newest | {"messages": newest["messages"][:-2] + newest["messages"][-1:]})
    sent = [received.raw for received in http_provider.received]
    assert sum(not after.startswith(_shared(before)) for before, after in pairwise(sent)) <= moves


def _said(protocol: str, received: Received, step: int, tool: str, arguments: dict[str, Any]) -> Reply:
    if protocol == "openai_native":
        return strict_provider.call(received, tool, arguments, f"call_{step % 3}")  # ids repeat, as at some providers
    reply, counted = says(protocol, tool, arguments), f'"input_tokens": {strict_provider.tokens_of(received)}'
    return replace(reply, chunks=[chunk.replace(b'"input_tokens": 10', counted.encode()) for chunk in reply.chunks])


def _call(step: int) -> tuple[str, dict[str, Any]]:
    if step > STEPS:
        return "message", {"type": "result", "text": "All done."}
    match step % 4:
        case 0:
            return "message", {"type": "info", "text": f"Step {step} " + "ö" * 50}
        case 1:
            content = f"line of {step}\n" * (step * 7 % 60 + 1)
            return "file", {"action": "write", "path": f"{step}.txt", "content": content}
        case 2:
            return "file", {"action": "read", "path": f"{step - 1}.txt"}
    return "plan", {"step": step}  # which the provider refuses


def _shared(body: bytes) -> bytes:
    """Return all messages before the newest, which may carry the cache marker."""
    return body[: body.rindex(b'{"role":')]


def _calls() -> list[str]:
    return [entry.call["id"] for entry in ContextEntry.objects.order_by("seq") if entry.call]


def _answers() -> list[str]:
    return list(ContextEntry.objects.exclude(tool_call_id="").order_by("seq").values_list("tool_call_id", flat=True))
