"""The part of a reply's words that a person sees while they arrive.

A call that is nothing but a first `message` shows its text; anything else that looks like a call shows nothing.
A server may cut a character in two: the halves are joined here.
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
    """Words are words; a call that hides in them is found at the end."""

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
        """The whole reply, at its end."""
        return read_reply(content, tools)

    def _said(self, piece: str) -> Iterator[Delta]:
        yield from _delta(DeltaKind.WORDS, self._words.feed(piece))

    def _message_text(self, piece: str) -> str:
        """What a piece of a call adds to the text of its message."""
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
        """The name comes first; a text that came before it is not shown."""
        visible = self._text.feed(piece)
        if self._is_shown is None:
            self._name += self._tool.feed(piece)
            self._is_shown = self._name == STREAMED_TOOL if visible else None
        return visible if self._is_shown else ""


class _WordsBeforeCall:
    """Passes words on until a sign of a call comes; holds back what may become one, and white space at the end."""

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
    """Where the text ends, or before that in the middle of a sign; only its first character begins a sign."""
    at = max(map(text.rfind, _FIRST_CHARACTERS))
    return at if at >= 0 and any(sign.startswith(text[at:]) for sign in SIGNS) else len(text)


def _delta(kind: DeltaKind, text: str) -> Iterator[Delta]:
    if text:
        yield Delta(kind=kind, text=text)


class Pieces:
    """JSON writes a character beyond U+FFFF as two halves (surrogates); some servers send each in its own chunk."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Takes a piece; returns what is whole of it: halves are joined, one that stays alone becomes U+FFFD."""
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
    """The text with halves joined where both are there; a single one becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_open_half(text: str) -> tuple[str, str]:
    """The text, and apart from it a last first half, whose second one may still come."""
    return (text[:-1], text[-1]) if "\ud800" <= text[-1:] <= "\udbff" else (text, "")
