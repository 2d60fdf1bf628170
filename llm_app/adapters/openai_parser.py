"""Chat completion chunks, folded into a turn."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from llm_app.adapters.openai_usage import usage_of
from llm_app.adapters.reading import dictionary, error_in_stream, json_text, objects, parse_object, strings, text
from llm_app.adapters.reasoning_details import ReasoningDetails
from llm_app.adapters.turn import TurnParser
from llm_app.text_calls.streams import PlainWords
from llm_app.transport.sse import ServerEvent
from llm_app.types import Delta


class OpenAIParser(TurnParser):
    """Takes chunks (`delta`) and whole answers (`message`) alike; thinking from any of the fields in use.

    These are `reasoning_content`, `reasoning`, `reasoning_details`, content parts of type thinking, and tags.
    """

    protocol = "openai"

    def __init__(
        self, model: str, tools: Collection[str] = (), words: PlainWords | None = None, open_with: str = ""
    ) -> None:
        super().__init__(model, tools, words, open_with)
        self._details = ReasoningDetails()

    def read(self, event: ServerEvent) -> Iterator[Delta]:
        chunk = parse_object(event.data)
        if error := _error(chunk, event.name):
            raise error_in_stream(error)
        choice = next((c for c in objects(chunk.get("choices")) if not c.get("index")), {})
        self._count(chunk, choice)
        self._finish_reason = text(choice.get("finish_reason")) or self._finish_reason
        yield from self._delta(dictionary(choice["delta"] if "delta" in choice else choice.get("message")))

    def _count(self, chunk: dict[str, Any], choice: dict[str, Any]) -> None:
        """Kimi counts inside of the choice, Groq in a field of its own."""
        for usage in (chunk.get("usage"), choice.get("usage"), dictionary(chunk.get("x_groq")).get("usage")):
            if isinstance(usage, dict) and usage:
                self.usage = usage_of(usage)
                return

    def _delta(self, delta: dict[str, Any]) -> Iterator[Delta]:
        yield from self._think(self._thought_in(delta))
        if content := delta.get("content") or delta.get("refusal"):
            yield from self._parts(content)
        for position, call in enumerate(objects(delta.get("tool_calls"))):
            yield from self._piece_of_call(position, call)

    def _thought_in(self, delta: dict[str, Any]) -> str:
        """Where several fields say the same, it is thought once."""
        details = self._details.add(delta["reasoning_details"]) if "reasoning_details" in delta else ""
        return text(delta.get("reasoning_content")) or text(delta.get("reasoning")) or details

    def _parts(self, content: object) -> Iterator[Delta]:
        """A text, or a list of parts, of which some may be thinking."""
        for part in content if isinstance(content, list) else [content]:
            thinking = dictionary(part).get("thinking")
            for piece in strings(thinking or part):
                yield from self._think(piece) if thinking else self._say(piece)

    def _piece_of_call(self, position: int, call: dict[str, Any]) -> Iterator[Delta]:
        index, function = call.get("index"), dictionary(call.get("function"))
        yield from self._call(
            index if isinstance(index, int) else position,
            is_index=isinstance(index, int),
            call_id=text(call.get("id")),
            name=text(function.get("name")),
            fragment=json_text(function.get("arguments")),
        )

    def _signed(self) -> tuple[Mapping[str, Any], ...]:
        return self._details.parts()


def _error(chunk: dict[str, Any], event_name: str) -> object:
    """An error has a field of its own; some servers send its fields bare."""
    return chunk.get("error") or (chunk if event_name == "error" or chunk.get("object") == "error" else None)
