"""Answers that ended because the context window was full, and answers that reached a limit of output."""

import pytest

from llm_app.call.full_window import is_window_full
from llm_app.types import LLMTurnResult, ToolCall, Usage

HALF = ToolCall(id="a", name="file", arguments='{"action": "wri')
WHOLE = ToolCall(id="a", name="file", arguments='{"action": "list"}')


def is_full(reason: str, output: int, allowed: int = 4_000, *calls: ToolCall) -> bool:
    result = LLMTurnResult(tool_calls=calls, finish_reason=reason, usage=Usage(output_tokens=output))
    return is_window_full(result, output_tokens=output, max_tokens=allowed)


@pytest.mark.parametrize("reason", ["model_context_window_exceeded", "contextLengthReached"])
@pytest.mark.parametrize("output", [0, 20, 3_999])
def test_a_provider_that_says_so_is_believed(reason: str, output: int) -> None:
    assert is_full(reason, output)
    assert is_full(reason, output, 4_000, HALF)


@pytest.mark.parametrize("output", [0, 1, 16, 300, 999])
@pytest.mark.parametrize("reason", ["length", "max_tokens", "max_output_tokens"])
def test_far_fewer_tokens_than_allowed_mean_a_full_window(reason: str, output: int) -> None:
    assert is_full(reason, output, 4_000, HALF)


@pytest.mark.parametrize(("output", "allowed"), [(4_000, 4_000), (3_900, 4_000), (1_000, 4_000), (4_096, 20_000)])
def test_a_limit_of_output_is_no_full_window(output: int, allowed: int) -> None:
    """A server may cap the output at a round number of tokens, below the number that was asked for."""
    assert not is_full("length", output, allowed, HALF)


def test_a_complete_call_is_used() -> None:
    assert not is_full("length", 16, 4_000, WHOLE)
    assert not is_full("tool_calls", 16, 4_000, HALF)
