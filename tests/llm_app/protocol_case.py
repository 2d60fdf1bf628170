"""Test cases as data: a provider's answer, and the expected turn or error. See `cases/<protocol>/*.yml`.

Cases in `cases/xml` run with both protocols of the XML mode.

The answer has one of four forms: `says` (fragments of content), `deltas` (of chat completions), `events` (JSON, or raw
text), `body` (raw bytes). The expectation is a `turn` (the named fields; calls as [name, arguments]), the streamed text
(`shown` of a message's text, `told` of the text next to a call, `thought`), or an `error`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from llm_app.adapters.base import Adapter, Endpoint, Parser, RouteParameters
from llm_app.protocols import adapter_for
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, LLMTurnResult, Prompt, ToolSpec
from tests.provider import Reply, sse

FOLDER = Path(__file__).with_name("cases")
SHARED = {"xml": ["anthropic_xml", "openai_xml"]}  # folders with cases of several protocols
TOOLS = tuple(
    ToolSpec(name=name, description=f"The tool {name}.", parameters={"type": "object"})
    for name in ("message", "shell", "file", "plan")
)


@dataclass
class Case:
    protocol: str
    name: str
    says: list[str] | None = None
    deltas: list[dict[str, Any]] | None = None
    events: list[Any] | None = None
    body: bytes | str = b""
    finish: str = ""
    status: int = 200
    content_type: str = "text/event-stream"
    quirks: dict[str, Any] = field(default_factory=dict)
    turn: dict[str, Any] | None = None
    shown: str | None = None
    told: str | None = None
    thought: str | None = None
    error: str = ""

    def __str__(self) -> str:
        return f"{self.protocol}: {self.name}"

    @property
    def adapter(self) -> Adapter:
        return adapter_for(self.protocol)

    @property
    def parameters(self) -> RouteParameters:
        return RouteParameters(model="m", max_tokens=100, quirks=self.quirks)

    @property
    def prompt(self) -> Prompt:
        return Prompt(system="Be brief.", tools=TOOLS, messages=())

    def parser(self) -> Parser:
        return self.adapter.parser(self.parameters, self.prompt)

    def endpoint(self, base_url: str) -> Endpoint:
        return Endpoint(base_url=base_url, api_key="sk-test", silence_s=5, total_s=10)

    # --- what the provider says -------------------------------------------------------------------------------------

    @property
    def reply(self) -> Reply:
        return Reply(chunks=[self.raw], status=self.status, content_type=self.content_type)

    @property
    def raw(self) -> bytes:
        if self.body:
            return self.body if isinstance(self.body, bytes) else self.body.encode()
        return b"".join(sse(*(self.events if self.events is not None else self._events())))

    def _events(self) -> list[Any]:
        if self.protocol.startswith("anthropic"):
            return list(_anthropic(self.says or [], self.finish or "end_turn"))
        deltas = self.deltas if self.deltas is not None else [{"content": piece} for piece in self.says or []]
        return [*_chunks(deltas, self.finish or "stop"), "[DONE]"]

    # --- what comes of it -------------------------------------------------------------------------------------------

    def check(self, turn: LLMTurnResult, deltas: list[Delta]) -> None:
        assert not self.error, f"{self.error} was expected, not {turn}"
        seen = {"content": turn.content, "origin": turn.origin, "finish_reason": turn.finish_reason}
        seen["calls"] = [[call.name, _parsed(call.arguments)] for call in turn.tool_calls]
        seen["ids"] = [call.id for call in turn.tool_calls]
        seen["unreadable"] = turn.unreadable
        seen["blocks"] = [dict(block) for block in turn.thinking.blocks] if turn.thinking else []
        seen["usage"] = {name: getattr(turn.usage, name) for name in (self.turn or {}).get("usage", ())}
        expected = dict(self.turn or {})
        assert expected.pop("unreadable", "") in seen.pop("unreadable"), turn.unreadable
        assert {name: seen[name] for name in expected} == expected
        assert "calls" in expected or not turn.tool_calls
        if "unreadable" not in (self.turn or {}):
            assert not turn.unreadable
        if self.shown is not None:
            assert streamed(deltas, "text") == self.shown
        if self.told is not None:
            assert streamed(deltas, "words") == self.told
        if self.thought is not None:
            assert (turn.thinking.text if turn.thinking else "") == streamed(deltas, "thinking") == self.thought


def streamed(deltas: Iterable[Delta], kind: str) -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


def folded(parser: Parser, events: Iterable[ServerEvent]) -> tuple[LLMTurnResult, list[Delta]]:
    """Parse the events like an attempt does."""
    deltas: list[Delta] = []
    for event in events:
        deltas += parser.feed(event)
        if parser.done:
            break
    return parser.result(), deltas


@cache
def all_cases() -> list[Case]:
    """Return every case of every file."""
    found = []
    for path in sorted(FOLDER.glob("*/*.yml")):
        for protocol in SHARED.get(path.parent.name, [path.parent.name]):
            found += [Case(protocol=protocol, **fields) for fields in yaml.load(path.read_text(), yaml.CSafeLoader)]
    twice = [name for name, times in Counter(map(str, found)).items() if times > 1]
    assert not twice, f"two cases have the same name: {twice}"
    return found


def _parsed(arguments: str) -> Any:
    """Return arguments as their JSON value, or unchanged if they are not JSON."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def _chunks(deltas: list[dict[str, Any]], finish: str) -> Iterator[dict[str, Any]]:
    for delta in [*deltas, {}]:
        reason = None if delta else finish
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def _anthropic(pieces: list[str], finish: str) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": finish}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}
