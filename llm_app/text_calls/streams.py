"""The part of a streamed reply that users see immediately.

The text of a first `message` call is visible; other possible calls are hidden. Servers may split a character in two, so
the halves are joined here.
"""

import re
from collections.abc import Collection, Iterator

from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.fence import ReplyStart
from llm_app.text_calls.last_block import TrailingBlock
from llm_app.text_calls.whole_reply import (
    SIGNS,
    ParsedReply,
    read_cut_reply,
    read_cut_reply_in_xml,
    read_reply,
    read_reply_in_xml,
)
from llm_app.text_calls.xml_calls import XMLCallStream
from llm_app.types import Delta, DeltaKind

STREAMED_TOOL, STREAMED_ARGUMENT = "message", "text"
_ANY_SIGN = re.compile("|".join(map(re.escape, SIGNS)))
_FIRST_CHARACTERS = frozenset(sign[0] for sign in SIGNS)


class ReplyStream:
    """A stream of plain text. Calls inside of the text are found at the end."""

    def __init__(self) -> None:
        self._start = ReplyStart("{", "[", *SIGNS)
        self._text_before_call = _TextBeforeCall()

    def feed(self, fragment: str) -> Iterator[Delta]:
        if self._start.is_call is None:
            fragment = self._start.feed(fragment)
        if self._start.is_call:
            yield from _delta(DeltaKind.TEXT, self._message_text(fragment))
        else:
            yield from self._text_deltas(fragment)

    def read_reply(self, content: str, tools: Collection[str]) -> ParsedReply:
        """Parse the complete reply."""
        return read_reply(content, tools)

    def read_cut_reply(self, content: str, tools: Collection[str]) -> ParsedReply:
        """Parse a reply that was cut at the output limit, and that `read_reply` finds no call in."""
        return read_cut_reply(content, tools)

    def _text_deltas(self, fragment: str) -> Iterator[Delta]:
        yield from _delta(DeltaKind.WORDS, self._text_before_call.feed(fragment))

    def _message_text(self, fragment: str) -> str:
        """Return the new part of the message text in a fragment of a call."""
        return ""


class XMLReplyStream(ReplyStream):
    def __init__(self) -> None:
        super().__init__()
        self._block = TrailingBlock()
        self._stream = XMLCallStream(streamed=(STREAMED_TOOL, STREAMED_ARGUMENT))

    def read_reply(self, content: str, tools: Collection[str]) -> ParsedReply:
        return read_reply_in_xml(content, tools)

    def read_cut_reply(self, content: str, tools: Collection[str]) -> ParsedReply:
        return read_cut_reply_in_xml(content, tools)

    def _text_deltas(self, fragment: str) -> Iterator[Delta]:
        text, block = self._block.feed(fragment)
        yield from super()._text_deltas(text)
        yield from _delta(DeltaKind.TEXT, self._message_text(block))

    def _message_text(self, fragment: str) -> str:
        return self._stream.feed(fragment) if fragment else ""


class JSONReplyStream(ReplyStream):
    def __init__(self) -> None:
        super().__init__()
        self._tool = ArgumentStream("tool")
        self._text = ArgumentStream("arguments", STREAMED_ARGUMENT)
        self._name = ""
        self._is_message: bool | None = None

    def _message_text(self, fragment: str) -> str:
        """Return the new part of the message text. A text that precedes the tool name stays hidden."""
        visible = self._text.feed(fragment)
        if self._is_message is None:
            self._name += self._tool.feed(fragment)
            self._is_message = self._name == STREAMED_TOOL if visible else None
        return visible if self._is_message else ""


class _TextBeforeCall:
    """A filter that passes text until a sign of a call. It holds back possible signs, and white space at the end."""

    def __init__(self) -> None:
        self._held = ""
        self._space: list[str] = []
        self._has_ended = False

    def feed(self, fragment: str) -> str:
        if self._has_ended or not fragment:
            return ""
        text = self._held + fragment
        sign = _ANY_SIGN.search(text)
        end = sign.start() if sign else _incomplete_sign_start(text)
        self._has_ended, self._held = bool(sign), text[end:]
        return self._hold_back_space(text[:end])

    def _hold_back_space(self, text: str) -> str:
        stripped = text.rstrip()
        if not stripped:
            self._space.append(text)
            return ""
        ready = "".join([*self._space, stripped])
        self._space = [text[len(stripped) :]]
        return ready


def _incomplete_sign_start(text: str) -> int:
    """Return the position of an incomplete sign at the end of the text, else the length of the text.

    Only the first character of a sign can begin one.
    """
    position = max(map(text.rfind, _FIRST_CHARACTERS))
    return position if position >= 0 and any(sign.startswith(text[position:]) for sign in SIGNS) else len(text)


def _delta(kind: DeltaKind, text: str) -> Iterator[Delta]:
    if text:
        yield Delta(kind=kind, text=text)


class FragmentedText:
    """A text that arrives in fragments. Characters beyond U+FFFF may be split into surrogates in two fragments."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    def add(self, fragment: str) -> str:
        """Add a fragment, and return its complete characters. Surrogates are joined; a single one becomes U+FFFD."""
        if self._half or not fragment.isascii():
            fragment, self._half = self._half + fragment, ""
            if "\ud800" <= fragment[-1:] <= "\udbff":  # a first surrogate, whose second one may follow
                fragment, self._half = fragment[:-1], fragment[-1]
            fragment = join_surrogates(fragment)
        if fragment:
            self._parts.append(fragment)
        return fragment

    def __bool__(self) -> bool:
        return bool(self._parts)

    def text(self) -> str:
        return "".join(self._parts) + ("\ufffd" if self._half else "")


def join_surrogates(text: str) -> str:
    """Return the text with joined surrogates. Single surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
