"""Answers of Anthropic's Messages API, and the signatures of its thinking.

A signature contains everything that the API checks when it comes back: the model, the text, and everything before it
(system prompt, tools and messages, without thinking and cache points). Source for the latter:
platform.claude.com/docs/en/build-with-claude/preserved-thinking.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from tests.contracts.contract import Refusal
from tests.contracts.openai_stream import json_reply
from tests.contracts.said import Called, Said
from tests.provider import PAUSE, Reply

REDACTED = "redacted "  # prefix of a fake's thinking that is to be encrypted
THINKING = ("thinking", "redacted_thinking")


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def signature(model: str, words: str, prefix: str) -> str:
    return f"{model}.{digest(words)}.{prefix}"


def prefix_of(body: Any, number: int) -> str:
    """Return everything before a block in the message with this index."""
    messages = [_bare(message) for message in body["messages"][:number]]
    return digest([_bare(body.get("system")), _bare(body.get("tools")), [m for m in messages if m["content"]]])


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(item) for item in value if not (isinstance(item, dict) and item.get("type") in THINKING)]
    if isinstance(value, dict):
        return {name: _bare(item) for name, item in value.items() if name != "cache_control"}
    return value


def anthropic_answer(said: Said, body: Any) -> Reply:
    """The stream of a turn; its usage estimates the request at four bytes a token."""
    blocks = [*_thinking(said, body), *_words(said), *(_call(call) for call in said.calls)]
    events = [_message_start(body)]
    for index, (block, deltas) in enumerate(blocks):
        is_cut = said.cut and index == len(blocks) - 1
        events += _block(index, block, deltas[:-1] if is_cut else deltas)
    if said.pause:
        return Reply(chunks=[*_encoded(events[:-1] if len(blocks) > 1 else events[:-2]), PAUSE])
    reason = "max_tokens" if said.cut else "tool_use" if said.calls else "end_turn"
    end = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 20}}
    return Reply(chunks=_encoded([*events, {"type": "ping"}, end, {"type": "message_stop"}]))


def thinks(body: Any) -> bool:
    """Return whether the model thinks.

    DeepSeek and newer Claude models think by default; older ones only at the beginning of a turn.
    """
    is_asked = (body.get("thinking") or {}).get("type")
    if is_asked == "enabled":
        return not _answers_call(body["messages"][-1])
    return is_asked == "adaptive" or (
        is_asked != "disabled" and body["model"].startswith(("claude-opus-5", "deepseek-"))
    )


def _answers_call(message: Any) -> bool:
    return any(block["type"] == "tool_result" for block in message["content"] if isinstance(block, dict))


Block = tuple[dict[str, Any], list[dict[str, Any]]]


def _thinking(said: Said, body: Any) -> Iterator[Block]:
    if not said.thinking or not thinks(body):
        return
    signed = signature(body["model"], said.thinking, prefix_of(body, len(body["messages"])))
    pieces = [{"type": "thinking_delta", "thinking": half} for half in _halves(said.thinking)]
    yield (
        {"type": "thinking", "thinking": "", "signature": ""},
        [*pieces, {"type": "signature_delta", "signature": signed}],
    )
    if said.thinking.startswith(REDACTED):
        yield {"type": "redacted_thinking", "data": signed}, []


def _words(said: Said) -> Iterator[Block]:
    if said.words:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": half} for half in _halves(said.words)]


def _call(call: Called) -> Block:
    pieces = [{"type": "input_json_delta", "partial_json": half} for half in ["", *_halves(call.text)]]
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}, pieces


def _block(index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> list[dict[str, Any]]:
    begin = {"type": "content_block_start", "index": index, "content_block": block}
    pieces = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [begin, *pieces, {"type": "content_block_stop", "index": index}]


def _message_start(body: Any) -> dict[str, Any]:
    usage = {"input_tokens": len(json.dumps(body)) // 4, "cache_read_input_tokens": 0, "output_tokens": 1}
    return {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": usage}}


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [half for half in (text[:middle], text[middle:]) if half]


def _encoded(events: list[dict[str, Any]]) -> list[bytes]:
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]


def anthropic_error(refusal: Refusal) -> Reply:
    """Source: platform.claude.com/docs/en/api/errors (error shapes)."""
    error = {"type": refusal.type, "message": refusal.message}
    return json_reply(refusal.status, {"type": "error", "error": error, "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"})
