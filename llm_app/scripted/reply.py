"""A scripted reply, sent in the wire format of real providers."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

from llm_app.transport.sse import ServerEvent


@dataclass(frozen=True, kw_only=True)
class ScriptedCall:
    name: str
    arguments: str  # JSON text, sent unchanged even if it is invalid


@dataclass(frozen=True, kw_only=True)
class ScriptedReply:
    """One reply of the model. In seconds: `delay` before it begins, `pace` between fragments, `stall` in its middle."""

    thinking: str = ""
    content: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    delay: float = 0
    pace: float = 0
    stall: float = 0
    usage: dict[str, int] = field(default_factory=dict)


async def play(reply: ScriptedReply, call_prefix: str, prompt_tokens: int) -> AsyncGenerator[ServerEvent]:
    """Yield the reply as chat completion chunks. `call_prefix` makes call ids unique in a conversation."""
    await asyncio.sleep(reply.delay)
    deltas = list(_deltas(reply, call_prefix))
    for position, delta in enumerate(deltas):
        if reply.stall and position == len(deltas) // 2:
            await asyncio.sleep(reply.stall)
        yield _chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}])
        await asyncio.sleep(reply.pace)
    reason = "tool_calls" if reply.calls else "stop"
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(deltas)} | reply.usage
    yield _chunk(choices=[{"index": 0, "delta": {}, "finish_reason": reason}], usage=usage)
    yield ServerEvent("", "[DONE]")


def _deltas(reply: ScriptedReply, call_prefix: str) -> Iterator[dict[str, Any]]:
    for fragment in _fragments(reply.thinking):
        yield {"reasoning_content": fragment}
    for fragment in _fragments(reply.content):
        yield {"content": fragment}
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {
            "tool_calls": [{"index": index, "id": f"{call_prefix}_{index}", "type": "function", "function": function}]
        }
        for fragment in _fragments(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": fragment}}]}


def _fragments(text: str) -> Iterator[str]:
    """Yield fragments of about the size of a few tokens."""
    for start in range(0, len(text), 12):
        yield text[start : start + 12]


def _chunk(**fields: Any) -> ServerEvent:
    return ServerEvent("", orjson.dumps({"object": "chat.completion.chunk", **fields}).decode())
