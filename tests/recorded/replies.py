"""The replies of a model in the format of each protocol. Their usage counts the actual request."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from tests.provider import Answer, Received, Reply, openai_chunk, sse

Call = tuple[str, dict[str, Any]]  # a tool and its arguments
_numbers = count(1)
_PIECE = 40  # characters


def reply(protocol: str, *calls: Call, words: str = "", thinking: str = "", stalls: bool = False) -> Answer:
    """Return a complete answer. One that `stalls` stops in the middle of its last text or arguments."""

    def answer(received: Received) -> Reply:
        events = _EVENTS[protocol](words, thinking, calls, len(received.raw) // 4)
        chunks = sse(*events)
        return Reply(chunks=chunks, stall_at=len(chunks) * 2 // 3 if stalls else None)

    return answer


def fails(received: Received) -> Reply:
    """Return the error of an overloaded provider, after which the next route is used immediately."""
    return Reply(chunks=[b'{"error": {"message": "Too many requests."}}'], status=429, content_type="application/json")


def cut(protocol: str, *calls: Call) -> Answer:
    """Return an answer whose stream breaks."""
    whole = reply(protocol, *calls)

    def answer(received: Received) -> Reply:
        chunks = whole(received).chunks
        return Reply(chunks=chunks[: len(chunks) // 2])

    return answer


def _openai(words: str, thinking: str, calls: tuple[Call, ...], counted: int) -> list[Any]:
    deltas: list[dict[str, Any]] = [{"reasoning_content": thinking}] if thinking else []
    deltas += [{"content": piece} for piece in _pieces(words)]
    for index, (name, arguments) in enumerate(calls):
        begin = {"index": index, "id": f"call_{next(_numbers)}", "type": "function"}
        deltas.append({"tool_calls": [begin | {"function": {"name": name, "arguments": ""}}]})
        for piece in _pieces(json.dumps(arguments)):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    usage = {"prompt_tokens": counted, "completion_tokens": 20}
    end = openai_chunk({}, "tool_calls" if calls else "stop", usage=usage)
    return [*map(openai_chunk, deltas), end, "[DONE]"]


def _json(words: str, thinking: str, calls: tuple[Call, ...], counted: int) -> list[Any]:
    said = words or json.dumps({"tool": calls[0][0], "arguments": calls[0][1]})
    return _openai(said, thinking, (), counted)


def _anthropic(words: str, thinking: str, calls: tuple[Call, ...], counted: int) -> list[Any]:
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if thinking:
        thought = [{"type": "thinking_delta", "thinking": thinking}, {"type": "signature_delta", "signature": "signed"}]
        blocks.append(({"type": "thinking", "thinking": ""}, thought))
    if words:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in _pieces(words)]))
    for name, arguments in calls:
        begin = {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": {}}
        parts = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(json.dumps(arguments))]
        blocks.append((begin, parts))
    return list(_blocks(blocks, counted, "tool_use" if calls else "end_turn"))


def _xml(words: str, thinking: str, calls: tuple[Call, ...], counted: int) -> list[Any]:
    written = [
        f'<function_calls>\n<invoke name="{name}">\n{"".join(map(_parameter, arguments.items()))}</invoke>\n</function_calls>'
        for name, arguments in calls[:1]
    ]
    return _anthropic("\n".join(filter(None, [words, *written])), "", (), counted)


def _parameter(field: tuple[str, Any]) -> str:
    name, value = field
    return f'<parameter name="{name}">{value if isinstance(value, str) else json.dumps(value)}</parameter>\n'


def _blocks(blocks: list[Any], counted: int, reason: str) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {"usage": {"input_tokens": counted, "output_tokens": 1}, "content": []}}
    for index, (begin, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": begin}
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


_EVENTS = {
    "openai_native": _openai,
    "litellm": _openai,
    "json_schema": _json,
    "anthropic_native": _anthropic,
    "anthropic_xml": _xml,
}
