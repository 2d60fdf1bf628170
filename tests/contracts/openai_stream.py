"""Answers of OpenAI chat completions and of compatible providers."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.contracts.contract import Refusal
from tests.contracts.said import Called, Said
from tests.provider import PAUSE, Reply, openai_chunk, sse

Deltas = Callable[[Called, int], Iterator[dict[str, Any]]]


def calls_in_pieces(call: Called, index: int) -> Iterator[dict[str, Any]]:
    """Yield the id and the name first, then the arguments in three fragments."""
    begin = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
    yield {"tool_calls": [begin]}
    size = max(1, len(call.text) // 3)
    for start in range(0, len(call.text), size):
        yield {"tool_calls": [{"index": index, "function": {"arguments": call.text[start : start + size]}}]}


def chat_answer(said: Said, body: Any, *, thinking_field: str = "", deltas: Deltas = calls_in_pieces) -> Reply:
    """The stream of a turn; its usage estimates the request at four bytes a token."""
    chunks = [openai_chunk({"role": "assistant", "content": ""})]
    if said.thinking and thinking_field:
        chunks += [openai_chunk({thinking_field: piece}) for piece in _pieces(said.thinking)]
    chunks += [openai_chunk({"content": piece}) for piece in _pieces(said.words)]
    for index, call in enumerate(said.calls):
        chunks += [openai_chunk(delta) for delta in deltas(call, index)]
    return Reply(chunks=_ended(said, chunks, body))


def _ended(said: Said, chunks: list[dict[str, Any]], body: Any) -> list[bytes]:
    if said.pause:
        return [*sse(*chunks[: max(2, len(chunks) - 1)]), PAUSE]
    if said.cut and said.calls:
        chunks = chunks[:-1]
    reason = "length" if said.cut else "tool_calls" if said.calls else "stop"
    usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 20}
    counted = {"object": "chat.completion.chunk", "choices": [], "usage": usage}
    wanted = [counted] if (body.get("stream_options") or {}).get("include_usage") else []
    return sse(*chunks, openai_chunk({}, reason), *wanted, "[DONE]")


def _pieces(text: str) -> list[str]:
    """Split a text into about four fragments."""
    size = max(1, len(text) // 4)
    return [text[start : start + size] for start in range(0, len(text), size)]


def openai_error(refusal: Refusal) -> Reply:
    """Source: platform.openai.com/docs/guides/error-codes; github.com/microsoft/vscode-copilot-release/issues/9954."""
    fields = {"message": refusal.message, "type": refusal.type, "param": refusal.param, "code": refusal.code}
    return json_reply(refusal.status, {"error": fields})


def json_reply(status: int, body: Any) -> Reply:
    return Reply(status=status, chunks=[json.dumps(body).encode()], content_type="application/json")


thinking_answer = partial(chat_answer, thinking_field="reasoning_content")
