"""A parser of the Responses API's stream, in which items are added, grow and are done."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import orjson

from llm_app.adapters.json_values import (
    count,
    dictionary,
    error_in_stream,
    json_text,
    objects,
    parse_object,
    strings,
    text,
)
from llm_app.adapters.turn_parser import TurnParser
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta, Usage

_WORDS = {"response.output_text.delta", "response.refusal.delta"}
_THOUGHTS = {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
_ENDS = {"response.completed", "response.incomplete"}


class ResponsesParser(TurnParser):
    """A parser of streams and of complete responses (`object: response`). It ignores unknown events and items.

    Source: platform.openai.com/docs/api-reference/responses-streaming.
    """

    protocol = "openai_responses"

    def __init__(self, model: str, tools: Collection[str] = ()) -> None:
        super().__init__(model, tools)
        self._reasoning: list[Mapping[str, Any]] = []
        self._grown: set[int] = set()  # output indexes of items that arrived in fragments

    def read_event(self, event: ServerEvent) -> Iterator[Delta]:
        fields = parse_object(event.data)
        kind, place = text(fields.get("type")), count(fields.get("output_index"))
        if kind in _WORDS:
            yield from self._grow(place, self._say(text(fields.get("delta"))))
        elif kind in _THOUGHTS:
            yield from self._grow(place, self._think(text(fields.get("delta"))))
        elif kind == "response.reasoning_summary_part.added" and fields.get("summary_index"):
            yield from self._think("\n\n")
        elif kind == "response.output_item.added":
            yield from self._begin(place, dictionary(fields.get("item")))
        elif kind == "response.function_call_arguments.delta":
            yield from self._grow(place, self._call(place, fragment=text(fields.get("delta"))))
        elif kind == "response.output_item.done":
            yield from self._end_item(place, dictionary(fields.get("item")))
        else:
            yield from self._whole(kind or event.name, fields)
            if not kind.startswith("response.") and not self.done:
                self._foreign = event.data[:200]

    def _whole(self, kind: str, fields: dict[str, Any]) -> Iterator[Delta]:
        """Parse the end of a stream, a complete response, or an error."""
        response = fields if fields.get("object") == "response" else dictionary(fields.get("response"))
        if kind in ("error", "response.failed") or fields.get("error") or response.get("error"):
            raise error_in_stream(response.get("error") or fields.get("error") or fields)
        if kind in _ENDS or fields is response:
            if not (self._grown or self._reasoning or self._calls):
                for place, item in enumerate(objects(response.get("output"))):
                    yield from self._end_item(place, item)
            self._end(response)

    def _end(self, response: dict[str, Any]) -> None:
        self.usage = _usage(dictionary(response.get("usage")))
        cut = text(dictionary(response.get("incomplete_details")).get("reason"))
        self._finish_reason = cut or text(response.get("status")) or "completed"
        self.done = True

    # --- items --------------------------------------------------------------------------------------------------

    def _grow(self, place: int, deltas: Iterable[Delta]) -> Iterable[Delta]:
        self._grown.add(place)
        return deltas

    def _begin(self, place: int, item: dict[str, Any]) -> Iterator[Delta]:
        if item.get("type") == "function_call":
            yield from self._call(place, **_head_of(item))

    def _end_item(self, place: int, item: dict[str, Any]) -> Iterator[Delta]:
        """Parse a completed item. Servers that stream no fragments send the complete content here."""
        kind, is_new = item.get("type"), place not in self._grown
        if kind == "reasoning":
            self._keep(item)
            if is_new:
                for words in (*strings(item.get("summary")), *strings(item.get("content"))):
                    yield from self._think(words)
        elif kind == "message" and is_new:
            for part in objects(item.get("content")):
                yield from self._say(text(part.get("text")) or text(part.get("refusal")))
        elif kind == "function_call" and is_new:
            yield from self._call(place, **_head_of(item), fragment=json_text(item.get("arguments")))

    def _keep(self, item: dict[str, Any]) -> None:
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

    def _signed(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(self._reasoning)


def _head_of(item: dict[str, Any]) -> dict[str, str]:
    return {"call_id": text(item.get("call_id")), "name": text(item.get("name"))}


def _usage(fields: dict[str, Any]) -> Usage:
    sent, received = count(fields.get("input_tokens")), count(fields.get("output_tokens"))
    cached = count(dictionary(fields.get("input_tokens_details")).get("cached_tokens"))
    reasoned = count(dictionary(fields.get("output_tokens_details")).get("reasoning_tokens"))
    return Usage(
        input_tokens=sent,
        cached_tokens=min(cached, sent),
        output_tokens=received,
        thinking_tokens=min(reasoned, received),
    )
