"""A parser of Anthropic's event stream."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from llm_app.adapters.json_values import count, dictionary, error_in_event, json_text, objects, parse_object, text
from llm_app.adapters.turn_parser import TurnParser
from llm_app.text_calls.streams import ReplyStream, join_surrogates
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, Usage


class AnthropicParser(TurnParser):
    """A parser that ignores unknown events, blocks and deltas, as the API documentation asks."""

    protocol = "anthropic"

    def __init__(self, model: str, tools: Collection[str] = (), reply_stream: ReplyStream | None = None) -> None:
        super().__init__(model, tools, reply_stream)
        self._counts = AnthropicUsage()
        self._thinking_blocks: dict[int, dict[str, Any]] = {}  # thinking blocks by index

    def read_event(self, event: ServerEvent) -> Iterator[Delta]:
        fields = parse_object(event.data)
        kind = text(fields.get("type"))
        if (not kind or kind == "error") and (error := error_in_event(fields, event.name)):
            raise error
        if kind == "content_block_start":
            yield from self._start(count(fields.get("index")), dictionary(fields.get("content_block")))
        elif kind == "content_block_delta":
            yield from self._delta(count(fields.get("index")), dictionary(fields.get("delta")))
        elif kind == "message_start":
            self.usage = self._counts.add(dictionary(fields.get("message")).get("usage"))
        elif kind == "message_delta":
            self._stop(dictionary(fields.get("delta")))
            self.usage = self._counts.add(fields.get("usage"))
        elif kind == "message_stop":
            self.done = True
        elif kind == "message":
            yield from self._complete_response(fields)
        elif not kind.startswith(("content_block", "ping")):
            self._unknown_event = event.data[:200]

    def _complete_response(self, fields: dict[str, Any]) -> Iterator[Delta]:
        """Parse a complete response from a server that does not stream."""
        for index, block in enumerate(objects(fields.get("content"))):
            yield from self._start(index, block)
        self.usage = self._counts.add(fields.get("usage"))
        self._stop(fields)

    def _stop(self, fields: dict[str, Any]) -> None:
        """Store the reason of the stop, and for a refusal its category and explanation.

        Source: platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals.
        """
        self._finish_reason = text(fields.get("stop_reason")) or self._finish_reason
        details = dictionary(fields.get("stop_details"))
        if details.get("type") == "refusal":
            self._refusal.add(" ".join(filter(None, [text(details.get("category")), text(details.get("explanation"))])))

    def _start(self, index: int, block: dict[str, Any]) -> Iterator[Delta]:
        kind = text(block.get("type"))
        if kind == "tool_use":
            fragment = json_text(block.get("input") or None)
            yield from self._call(index, call_id=text(block.get("id")), name=text(block.get("name")), fragment=fragment)
        elif kind in ("thinking", "redacted_thinking"):
            for name in ("thinking", "signature", "data"):
                self._append_thinking(index, kind, name, text(block.get(name)))
            yield from self._think(text(block.get("thinking")))
        elif kind == "text":
            yield from self._say(text(block.get("text")))

    def _delta(self, index: int, delta: dict[str, Any]) -> Iterator[Delta]:
        kind = text(delta.get("type"))
        if kind == "text_delta":
            yield from self._say(text(delta.get("text")))
        elif kind == "input_json_delta":
            yield from self._call(index, fragment=text(delta.get("partial_json")))
        elif kind == "thinking_delta":
            self._append_thinking(index, "thinking", "thinking", text(delta.get("thinking")))
            yield from self._think(text(delta.get("thinking")))
        elif kind == "signature_delta":
            self._append_thinking(index, "thinking", "signature", text(delta.get("signature")))

    def _append_thinking(self, index: int, kind: str, name: str, fragment: str) -> None:
        """Append a fragment of thinking. Thinking after a call belongs to the next call, which does not run."""
        if fragment and not self._calls:
            block = self._thinking_blocks.setdefault(index, {"type": kind})
            block[name] = block.get(name, "") + fragment

    def _signed_blocks(self) -> tuple[Mapping[str, Any], ...]:
        """Return the signed blocks. Each needs a text, even if it is empty."""
        signed = []
        for fragments in self._thinking_blocks.values():
            block = {name: join_surrogates(value) for name, value in fragments.items()}
            if block["type"] == "thinking":
                block = {"thinking": ""} | block
            if block.get("signature") or block.get("data"):
                signed.append(block)
        return tuple(signed)


class AnthropicUsage:
    """Token counts of a response. Two events report cumulative counts, so later counts replace earlier ones.

    A zero means that the event does not know the count. Sources: github.com/sgl-project/sglang/pull/20830 (in
    message_start), github.com/envoyproxy/ai-gateway/pull/1631 (in message_delta).
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, usage: object) -> Usage:
        """Add the counts of an event, and return the usage so far.

        The API counts cached tokens separately; here they are part of the input.
        """
        for name, value in dictionary(usage).items():
            self._counts[name] = count(value) or self._counts.get(name, 0)
        cached = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        return Usage(
            input_tokens=count(self._counts.get("input_tokens", 0) + cached + written),
            cached_tokens=cached,
            cache_write_tokens=written,
            output_tokens=self._counts.get("output_tokens", 0),
        )
