"""The common parser of all protocols: it collects thinking, text and calls into a turn."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from llm_app.adapters.base import Parser
from llm_app.adapters.json_values import error_in_stream
from llm_app.adapters.think_tags import ThinkTags
from llm_app.errors import ContentRefused, StreamCut, UnreadableReply
from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.streams import STREAMED_ARGUMENT, STREAMED_TOOL, FragmentedText, ReplyStream
from llm_app.text_calls.whole_reply import ParsedReply
from llm_app.text_calls.writing import object_in
from llm_app.transport.sse import ServerEvent
from llm_app.types import (
    ABORT_REASONS,
    INVALID_CALL_REASONS,
    LIMIT_REASONS,
    REFUSAL_REASONS,
    Delta,
    DeltaKind,
    LLMTurnResult,
    Thinking,
    ToolCall,
    has_reason,
)

# Comments and pings that gateways wrap as events: github.com/mnfst/llm-gateway/issues/2053.
_KEEPALIVES = ("ping", "keepalive", "heartbeat")
_INVALID = "the model provider found it malformed."


class TurnParser(Parser):
    """A parser that knows the names of the visible `tools`.

    `reply_stream` decides which part of the content is streamed.

    Calls in the content only count if the reply has no native calls.
    """

    protocol: ClassVar[str]

    def __init__(
        self, model: str, tools: Collection[str] = (), reply_stream: ReplyStream | None = None, open_with: str = ""
    ) -> None:
        self._model, self._tools = model, tools
        self._reply_stream = reply_stream if reply_stream and tools else ReplyStream()
        self._tags = ThinkTags(open_with)
        self._content, self._thinking = FragmentedText(), FragmentedText()
        self._calls = CallAssembly()
        self._finish_reason = ""
        self._refusal = FragmentedText()  # the model's words of refusal, or the reason of the provider
        self._unknown_event = ""  # an event that does not belong to the protocol

    def feed(self, event: ServerEvent) -> Iterable[Delta]:
        data = event.data.strip()
        if data == "[DONE]":
            self.done = True
            return ()
        if event.name == "error" and not data.startswith(("{", "[")):
            raise error_in_stream(data)
        is_keepalive = not data or data[0] == ":" or event.name in _KEEPALIVES
        return () if is_keepalive else self.read_event(event)

    @property
    def has_ended(self) -> bool:
        """Return whether a finish reason has come. Usage and the end mark may follow, and may be missing."""
        return bool(self._finish_reason) and self._finish_reason not in ABORT_REASONS

    @property
    def is_foreign(self) -> bool:
        return bool(self._unknown_event) and not self._has_begun

    @property
    def _has_begun(self) -> bool:
        return bool(self._content or self._thinking or self._calls)

    def read_event(self, event: ServerEvent) -> Iterable[Delta]:
        """Parse an event with data."""
        raise NotImplementedError

    def _think(self, fragment: str) -> Iterable[Delta]:
        new_text = self._thinking.add(fragment) if fragment else ""
        return (Delta(kind=DeltaKind.THINKING, text=new_text),) if new_text else ()

    def _say(self, fragment: str) -> Iterator[Delta]:
        """Add a fragment of content, which may begin with thinking between tags."""
        for kind, part in self._tags.feed(fragment) if fragment else ():
            if kind is DeltaKind.THINKING:
                yield from self._think(part)
            elif part := self._content.add(part):
                yield from self._reply_stream.feed(part)

    def _refuse(self, fragment: str) -> Iterable[Delta]:
        """Add a fragment of the model's words of refusal, which some protocols separate from content."""
        new_text = self._refusal.add(fragment) if fragment else ""
        return (Delta(kind=DeltaKind.WORDS, text=new_text),) if new_text else ()

    def _call(self, index: int, **fields: Any) -> Iterable[Delta]:
        """Add a fragment of a call; `fields` are the arguments of `CallAssembly.add`."""
        new_text = self._calls.add(index, **fields)
        return (Delta(kind=DeltaKind.TEXT, text=new_text),) if new_text else ()

    def result(self) -> LLMTurnResult:
        """Return the turn. It is complete with a finish reason, or with the protocol's end mark after some output.

        Raises: ContentRefused if a filter stopped it. Its calls may be complete, but they must not run.
        """
        for kind, part in self._tags.end():
            (self._thinking if kind is DeltaKind.THINKING else self._content).add(part)
        if self._finish_reason in ABORT_REASONS:
            raise StreamCut(f"finish_reason: {self._finish_reason}")
        if self._refusal or has_reason(self._finish_reason, REFUSAL_REASONS):
            raise ContentRefused(f"finish_reason: {self._finish_reason[:50]}. {self._refusal.text()[:500]}".strip())
        if not self._finish_reason and not (self.done and self._has_begun):
            raise UnreadableReply(self._unknown_event) if self.is_foreign else StreamCut()
        content, parsed = self._content.text(), ParsedReply(unreadable=_INVALID)
        calls: tuple[ToolCall, ...] = ()
        if not has_reason(self._finish_reason, INVALID_CALL_REASONS):
            calls, parsed = self._calls.finished(), self._parse_content(content)
        return LLMTurnResult(
            content=parsed.leading_text if parsed.calls else content,
            tool_calls=calls or parsed.calls,
            origin=parsed.origin,
            unreadable=parsed.unreadable,
            thinking=self._combined_thinking(),
            usage=self.usage,
            finish_reason="".join(filter(str.isprintable, self._finish_reason))[:50],
        )

    def _parse_content(self, content: str) -> ParsedReply:
        if self._calls or not self._tools:
            return ParsedReply()
        parsed = self._reply_stream.read_reply(content, self._tools)
        if has_reason(self._finish_reason, LIMIT_REASONS) and not parsed.calls:
            return self._reply_stream.read_cut_reply(content, self._tools)
        return parsed

    def _combined_thinking(self) -> Thinking | None:
        text, blocks = self._thinking.text(), self._signed_blocks()
        if not text and not blocks:
            return None
        return Thinking(text=text, protocol=self.protocol, model=self._model, blocks=blocks)

    def _signed_blocks(self) -> tuple[Mapping[str, Any], ...]:
        """Return the parts that only their own protocol and model accept, unchanged."""
        return ()


class PartialCall:
    """A call that is still arriving: its id and name come first, its arguments in fragments."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments = FragmentedText()
        self.visible: ArgumentStream | None = None


class CallAssembly:
    """The calls of one response, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[PartialCall] = []
        self._by_index: dict[int, PartialCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, index: int, *, call_id: str = "", name: str = "", fragment: str = "", is_index: bool = True) -> str:
        """Add a fragment of the call at `index`, and return the new readable text of a first `message` call.

        Servers number their calls differently: some give all calls the same index, some give none (then `index` is only
        the position in the list), some omit ids or repeat names as ids. So another name or id begins another call, and
        so does an object after a complete one.
        """
        call = self._by_index.get(index)
        has_names = call is not None and name and call.name
        if call is None or (has_names and _begins_another_call(call, call_id, name, fragment, is_index=is_index)):
            call = self._by_index[index] = PartialCall()
            self._calls.append(call)
        call.id = call.id or call_id
        call.name = call.name or name
        return self._append_arguments(call, fragment) if fragment else ""

    def _append_arguments(self, call: PartialCall, fragment: str) -> str:
        if call.name == STREAMED_TOOL and not call.arguments and call is self._calls[0]:
            call.visible = ArgumentStream(STREAMED_ARGUMENT)
        fragment = call.arguments.add(fragment)
        return call.visible.feed(fragment) if call.visible else ""

    def finished(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(id=call.id, name=call.name, arguments=call.arguments.text().strip()) for call in self._calls
        )


def _begins_another_call(call: PartialCall, call_id: str, name: str, fragment: str, *, is_index: bool) -> bool:
    """Return whether a fragment with a name begins another call than `call`, which also has a name."""
    has_other_id = bool(call_id and call.id and call_id != call.id)
    if name != call.name or has_other_id or not (call_id or is_index):
        return True
    return fragment.startswith("{") and "unreadable_arguments" not in object_in(call.arguments.text())
