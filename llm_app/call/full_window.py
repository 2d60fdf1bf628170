"""Recognition of an answer that ended because the context window was full, although its status is 200."""

import orjson

from llm_app.types import WINDOW_REASONS, LLMTurnResult, ToolCall, has_reason

_FEW = 4  # a limit of output is reached with all of its tokens; a full window leaves any smaller number
_LEAST_CAP, _CAP_UNITS = 256, (256, 500)  # caps of servers are round numbers such as 512, 2,000 or 4,096


def is_window_full(result: LLMTurnResult, *, output_tokens: int, max_tokens: int) -> bool:
    """Return whether the window was full before the answer was complete.

    Some providers say so. Others end with the reason of the output limit, after far fewer tokens than were allowed:
    github.com/letta-ai/letta-code/issues/3508, github.com/earendil-works/pi/issues/7052. A server may also have a
    smaller limit of output than the request; then the number of tokens is round.
    """
    if not result.is_cut or (result.tool_calls and _is_complete(result.tool_calls[0])):
        return False
    if has_reason(result.finish_reason, WINDOW_REASONS):
        return True
    reported = result.usage.output_tokens
    is_cap = reported >= _LEAST_CAP and any(reported % unit == 0 for unit in _CAP_UNITS)
    return output_tokens * _FEW < max_tokens and not is_cap


def _is_complete(call: ToolCall) -> bool:
    """Return whether the arguments of a call are a complete object."""
    try:
        return isinstance(orjson.loads(call.arguments), dict)
    except orjson.JSONDecodeError:
        return False
