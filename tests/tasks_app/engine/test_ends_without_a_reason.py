"""Replies without a finish reason: one with the protocol's end mark is complete, but half a call never runs."""

from collections.abc import Callable
from typing import Any

import pytest

from llm_app.models import LLMLog
from tasks_app.models import ToolCallLog
from tests.provider import FakeProvider, Reply, openai_chunk, openai_result, sse
from tests.tasks_app.engine.conftest import Run


def called(name: str, arguments: str) -> Reply:
    """Return one call, and `[DONE]` without a finish reason."""
    function = {"name": name, "arguments": arguments}
    piece: dict[str, Any] = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return Reply(chunks=sse(openai_chunk({"role": "assistant", "tool_calls": [piece]}), "[DONE]"))


def test_a_task_ends_well_with_one_call_to_the_provider(
    ask_http: Callable[..., Run], http_provider: FakeProvider
) -> None:
    http_provider.replies = [called("message", '{"type": "result", "text": "Done."}')]
    task = ask_http().advance()
    assert (task.state, task.final_result["text"]) == ("done", "Done.")
    assert len(http_provider.received) == 1
    assert LLMLog.objects.get().status == "succeeded"


@pytest.mark.parametrize("arguments", ['{"action": "write", "path": "a.txt", "content": "b', '{"action": "list"', ""])
def test_half_a_call_never_runs(arguments: str, ask_http: Callable[..., Run], http_provider: FakeProvider) -> None:
    http_provider.replies = [called("file", arguments), openai_result()]
    run = ask_http()
    assert run.advance().state == "done"
    assert not ToolCallLog.objects.filter(name="file", status__in=["started", "succeeded"]).exists()
    assert LLMLog.objects.filter(status="failed").count() == 0
