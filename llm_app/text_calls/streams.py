"""The part of a streamed reply that users see immediately.

The text of a first `message` call is visible; other possible calls are hidden. Servers may split a character in two, so
the halves are joined here.
"""

import re
from collections.abc import Collection, Iterator

from llm_app.text_calls.argument_stream import ArgumentStream
from llm_app.text_calls.fence import Opening
from llm_app.text_calls.last_block import LastBlock
from llm_app.text_calls.whole_reply import SIGNS, ReplyReading, read_reply, read_reply_in_xml
from llm_app.text_calls.xml_calls import XMLCallStream
from llm_app.types import Delta, DeltaKind

STREAMED_TOOL, STREAMED_ARGUMENT = "message", "text"
_ANY_SIGN = re.compile("|".join(map(re.escape, SIGNS)))
_FIRST_CHARACTERS = frozenset(sign[0] for sign in SIGNS)


class PlainWords:
    """A stream of plain text. Calls inside of the text are found at the end."""

    def __init__(self) -> None:
        self._opening = Opening("{", "[", *SIGNS)
        self._words = _WordsBeforeCall()

    def feed(self, piece: str) -> Iterator[Delta]:
        if self._opening.is_call is None:
            piece = self._opening.feed(piece)
        if self._opening.is_call:
            yield from _delta(DeltaKind.TEXT, self._message_text(piece))
        else:
            yield from self._said(piece)

    def read_reply(self, content: str, tools: Collection[str]) -> ReplyReading:
        """Parse the complete reply."""
        return read_reply(content, tools)

    def _said(self, piece: str) -> Iterator[Delta]:
        yield from _delta(DeltaKind.WORDS, self._words.feed(piece))

    def _message_text(self, piece: str) -> str:
        """Return the new part of the message text in a fragment of a call."""
        return ""


class XMLWords(PlainWords):
    def __init__(self) -> None:
        super().__init__()
        self._block = LastBlock()
        self._stream = XMLCallStream(shown=(STREAMED_TOOL, STREAMED_ARGUMENT))

    def read_reply(self, content: str, tools: Collection[str]) -> ReplyReading:
        return read_reply_in_xml(content, tools)

    def _said(self, piece: str) -> Iterator[Delta]:
        words, block = self._block.feed(piece)
        yield from super()._said(words)
        yield from _delta(DeltaKind.TEXT, self._message_text(block))

    def _message_text(self, piece: str) -> str:
        return self._stream.feed(piece) if piece else ""


class JSONWords(PlainWords):
    def __init__(self) -> None:
        super().__init__()
        self._tool = ArgumentStream("tool")
        self._text = ArgumentStream("arguments", STREAMED_ARGUMENT)
        self._name = ""
        self._is_shown: bool | None = None

    def _message_text(self, piece: str) -> str:
        """Return the new part of the message text. A text that precedes the tool name stays hidden."""
        visible = self._text.feed(piece)
        if self._is_shown is None:
            self._name += self._tool.feed(piece)
            self._is_shown = self._name == STREAMED_TOOL if visible else None
        return visible if self._is_shown else ""


class _WordsBeforeCall:
    """A filter that passes text until a sign of a call. It holds back possible signs, and white space at the end."""

    def __init__(self) -> None:
        self._held = ""
        self._space: list[str] = []
        self._is_over = False

    def feed(self, piece: str) -> str:
        if self._is_over or not piece:
            return ""
        text = self._held + piece
        sign = _ANY_SIGN.search(text)
        end = sign.start() if sign else _open_sign(text)
        self._is_over, self._held = bool(sign), text[end:]
        return self._without_last_space(text[:end])

    def _without_last_space(self, text: str) -> str:
        words = text.rstrip()
        if not words:
            self._space.append(text)
            return ""
        shown = "".join([*self._space, words])
        self._space = [text[len(words) :]]
        return shown


def _open_sign(text: str) -> int:
    """Return the position of an incomplete sign at the end of the text, else the length of the text.

    Only the first character of a sign can begin one.
    """
    at = max(map(text.rfind, _FIRST_CHARACTERS))
    return at if at >= 0 and any(sign.startswith(text[at:]) for sign in SIGNS) else len(text)


def _delta(kind: DeltaKind, text: str) -> Iterator[Delta]:
    if text:
        yield Delta(kind=kind, text=text)


class Pieces:
    """A text that arrives in fragments. Characters beyond U+FFFF may be split into surrogates in two fragments."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Add a fragment, and return its complete characters. Surrogates are joined; a single one becomes U+FFFD."""
        if self._half or not piece.isascii():
            piece, self._half = _without_open_half(self._half + piece)
            piece = whole(piece)
        if piece:
            self._parts.append(piece)
        return piece

    def __bool__(self) -> bool:
        return bool(self._parts)

    def text(self) -> str:
        return "".join(self._parts) + ("\ufffd" if self._half else "")


def whole(text: str) -> str:
    """Return the text with joined surrogates. Single surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_open_half(text: str) -> tuple[str, str]:
    """Return the text, and separately a first surrogate at its end, whose second one may follow."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
