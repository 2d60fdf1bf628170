"""A parser of the Responses API's stream, in which items are added, grow and are done."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import orjson

from llm_app.adapters.json_values import (
    count,
    dictionary,
    error_in_event,
    error_in_stream,
    json_text,
    objects,
    parse_object,
    strings,
    text,
)
from llm_app.adapters.openai_parser import cache_writes
from llm_app.adapters.turn_parser import TurnParser
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, Usage

_THINKING_EVENTS = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
_END_EVENTS = {"response.completed", "response.incomplete"}


class ResponsesParser(TurnParser):
    """A parser of streams and of complete responses (`object: response`). It ignores unknown events and items.

    Source: platform.openai.com/docs/api-reference/responses-streaming.
    """

    protocol = "openai_responses"

    def __init__(self, model: str, tools: Collection[str] = ()) -> None:
        super().__init__(model, tools)
        self._reasoning: list[Mapping[str, Any]] = []
        self._fragmented: set[int] = set()  # output indexes of items that arrived in fragments

    def read_event(self, event: ServerEvent) -> Iterator[Delta]:
        fields = parse_object(event.data)
        kind, index = text(fields.get("type")), count(fields.get("output_index"))
        if kind == "response.output_text.delta":
            yield from self._mark_fragmented(index, self._say(text(fields.get("delta"))))
        elif kind == "response.refusal.delta":
            yield from self._mark_fragmented(index, self._refuse(text(fields.get("delta"))))
        elif kind in _THINKING_EVENTS:
            yield from self._mark_fragmented(index, self._think(text(fields.get("delta"))))
        elif kind == "response.reasoning_summary_part.added" and fields.get("summary_index"):
            yield from self._think("\n\n")
        elif kind == "response.output_item.added":
            item = dictionary(fields.get("item"))
            if item.get("type") == "function_call":
                yield from self._call(index, **_call_head(item))
        elif kind == "response.function_call_arguments.delta":
            yield from self._mark_fragmented(index, self._call(index, fragment=text(fields.get("delta"))))
        elif kind == "response.output_item.done":
            yield from self._complete_item(index, dictionary(fields.get("item")))
        else:
            yield from self._other_event(kind or event.name, fields)
            if not kind.startswith("response.") and not self.done:
                self._unknown_event = event.data[:200]

    def _other_event(self, kind: str, fields: dict[str, Any]) -> Iterator[Delta]:
        """Parse the end of a stream, a complete response, or an error."""
        response = fields if fields.get("object") == "response" else dictionary(fields.get("response"))
        if kind in ("error", "response.failed") or fields.get("error") or response.get("error"):
            raise error_in_stream(response.get("error") or fields.get("error") or fields)
        if not kind and (error := error_in_event(fields)):
            raise error
        if kind in _END_EVENTS or fields is response:
            if not (self._fragmented or self._reasoning or self._calls):
                for index, item in enumerate(objects(response.get("output"))):
                    yield from self._complete_item(index, item)
            self.usage = _usage(dictionary(response.get("usage")))
            incomplete_reason = text(dictionary(response.get("incomplete_details")).get("reason"))
            self._finish_reason = incomplete_reason or text(response.get("status")) or "completed"
            self.done = True

    # --- items --------------------------------------------------------------------------------------------------

    def _mark_fragmented(self, index: int, deltas: Iterable[Delta]) -> Iterable[Delta]:
        self._fragmented.add(index)
        return deltas

    def _complete_item(self, index: int, item: dict[str, Any]) -> Iterator[Delta]:
        """Parse a completed item. Servers that stream no fragments send the complete content here."""
        kind, is_new = item.get("type"), index not in self._fragmented
        if kind == "reasoning":
            self._store_reasoning(item)
            if is_new:
                for thinking_text in (*strings(item.get("summary")), *strings(item.get("content"))):
                    yield from self._think(thinking_text)
        elif kind == "message" and is_new:
            for part in objects(item.get("content")):
                yield from self._say(text(part.get("text")))
                yield from self._refuse(text(part.get("refusal")))
        elif kind == "function_call" and is_new:
            yield from self._call(index, **_call_head(item), fragment=json_text(item.get("arguments")))

    def _store_reasoning(self, item: dict[str, Any]) -> None:
        """Store a reasoning item, which is sent back unchanged.

        Without its content it only refers to an item that nobody has stored, and the API rejects it. Reasoning after a
        call belongs to the next call, which does not run. Source: "Item with id … not found. Items are not persisted
        when `store` is set to false", as in github.com/earendil-works/pi/issues/5059.
        """
        if self._calls or not (item.get("encrypted_content") or item.get("content")):
            return
        try:
            orjson.dumps(item)
        except orjson.JSONEncodeError:  # half a surrogate pair: the API would reject a repaired item
            return
        self._reasoning.append(item)

    def _signed_blocks(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self._reasoning)


def _call_head(item: dict[str, Any]) -> dict[str, str]:
    return {"call_id": text(item.get("call_id")), "name": text(item.get("name"))}


def _usage(fields: dict[str, Any]) -> Usage:
    input_tokens, output_tokens = count(fields.get("input_tokens")), count(fields.get("output_tokens"))
    input_details = dictionary(fields.get("input_tokens_details"))
    cached = min(count(input_details.get("cached_tokens")), input_tokens)
    thinking_tokens = count(dictionary(fields.get("output_tokens_details")).get("reasoning_tokens"))
    return Usage(
        input_tokens=input_tokens,
        cached_tokens=cached,
        cache_write_tokens=min(cache_writes(fields, input_details), input_tokens - cached),
        output_tokens=output_tokens,
        thinking_tokens=min(thinking_tokens, output_tokens),
    )
