"""The common parser of all protocols: it collects thinking, text and calls into a turn."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from llm_app.adapters.base import Parser
from llm_app.adapters.think_tags import ThinkTags
from llm_app.errors import StreamCut, UnreadableReply
from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.streams import STREAMED_ARGUMENT, STREAMED_TOOL, Pieces, PlainWords
from llm_app.text_calls.whole_reply import ReplyReading
from llm_app.text_calls.writing import object_in
from llm_app.transport.sse import ServerEvent
from llm_app.types import ABORT_REASONS, LIMIT_REASONS, Delta, DeltaKind, LLMTurnResult, Thinking, ToolCall

_CUT = "it reached the output limit before its end; say less in one call."


class TurnParser(Parser):
    """A parser that knows the names of the visible `tools`; `words` decides which part of the content is streamed.

    Calls in the content only count if the reply has no native calls.
    """

    protocol: ClassVar[str]

    def __init__(
        self, model: str, tools: Collection[str] = (), words: PlainWords | None = None, open_with: str = ""
    ) -> None:
        self._model, self._tools = model, tools
        self._words = words if words and tools else PlainWords()
        self._tags = ThinkTags(open_with)
        self._content, self._thinking = Pieces(), Pieces()
        self._calls = CallAssembly()
        self._finish_reason = ""
        self._foreign = ""  # an event that does not belong to the protocol

    def feed(self, event: ServerEvent) -> Iterable[Delta]:
        data = event.data.strip()
        if data == "[DONE]":
            self.done = True
            return ()
        return self.read_event(event) if data else ()

    def read_event(self, event: ServerEvent) -> Iterable[Delta]:
        """Parse an event with data."""
        raise NotImplementedError

    def _think(self, piece: str) -> Iterable[Delta]:
        visible = self._thinking.add(piece) if piece else ""
        return (Delta(kind=DeltaKind.THINKING, text=visible),) if visible else ()

    def _say(self, piece: str) -> Iterator[Delta]:
        """Add a fragment of content, which may begin with thinking between tags."""
        for kind, part in self._tags.feed(piece) if piece else ():
            if kind is DeltaKind.THINKING:
                yield from self._think(part)
            elif part := self._content.add(part):
                yield from self._words.feed(part)

    def _call(self, place: int, **fields: Any) -> Iterable[Delta]:
        """Add a fragment of a call; `fields` are the arguments of `CallAssembly.add`."""
        visible = self._calls.add(place, **fields)
        return (Delta(kind=DeltaKind.TEXT, text=visible),) if visible else ()

    def result(self) -> LLMTurnResult:
        """Return the turn. It is complete with a finish reason, or with the protocol's end mark after some output."""
        for kind, part in self._tags.end():
            (self._thinking if kind is DeltaKind.THINKING else self._content).add(part)
        if self._finish_reason in ABORT_REASONS:
            raise StreamCut(f"finish_reason: {self._finish_reason}")
        has_begun = self._content or self._thinking or self._calls
        if not self._finish_reason and not (self.done and has_begun):
            raise StreamCut() if has_begun or not self._foreign else UnreadableReply(self._foreign)
        content = self._content.text()
        calls, reading = self._calls.finished(), self._reading(content)
        return LLMTurnResult(
            content=reading.words if reading.calls else content,
            tool_calls=calls or reading.calls,
            origin=reading.origin,
            unreadable=reading.unreadable,
            thinking=self._thought(),
            usage=self.usage,
            finish_reason="".join(filter(str.isprintable, self._finish_reason))[:50],
        )

    def _reading(self, content: str) -> ReplyReading:
        if self._calls or not self._tools:
            return ReplyReading()
        reading = self._words.read_reply(content, self._tools)
        return ReplyReading(unreadable=_CUT) if self._finish_reason in LIMIT_REASONS and not reading.calls else reading

    def _thought(self) -> Thinking | None:
        text, blocks = self._thinking.text(), self._signed()
        if not text and not blocks:
            return None
        return Thinking(text=text, protocol=self.protocol, model=self._model, blocks=blocks)

    def _signed(self) -> tuple[Mapping[str, Any], ...]:
        """Return the parts that only their own protocol and model accept, unchanged."""
        return ()


class PartialCall:
    """A call that is still arriving: its id and name come first, its arguments in fragments."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments = Pieces()
        self.visible: ArgumentStream | None = None


class CallAssembly:
    """The calls of one response, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[PartialCall] = []
        self._places: dict[int, PartialCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, place: int, *, call_id: str = "", name: str = "", fragment: str = "", is_index: bool = True) -> str:
        """Add a fragment of the call at `place`, and return the new readable text of a first `message` call.

        Servers number their calls differently: some give all calls the same index, some give none (then `place` is only
        the position in the list), some omit ids or repeat names as ids. So another name or id begins another call, and
        so does an object after a complete one.
        """
        call = self._places.get(place)
        if call is None or (name and call.name and _begins_another(call, call_id, name, fragment, is_index=is_index)):
            call = self._places[place] = PartialCall()
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        return self._argument(call, fragment) if fragment else ""

    def _argument(self, call: PartialCall, fragment: str) -> str:
        if call.name == STREAMED_TOOL and not call.arguments and call is self._calls[0]:
            call.visible = ArgumentStream(STREAMED_ARGUMENT)
        fragment = call.arguments.add(fragment)
        return call.visible.feed(fragment) if call.visible else ""

    def finished(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(id=call.id, name=call.name, arguments=call.arguments.text().strip()) for call in self._calls
        )


def _begins_another(call: PartialCall, call_id: str, name: str, fragment: str, *, is_index: bool) -> bool:
    """Return whether a fragment with a name begins another call than `call`, which also has a name."""
    has_other_id = bool(call_id and call.id and call_id != call.id)
    if name != call.name or has_other_id or not (call_id or is_index):
        return True
    return fragment.startswith("{") and "unreadable_arguments" not in object_in(call.arguments.text())
