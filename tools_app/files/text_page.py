"""Pages of a text file with line numbers, read as a stream: memory use is bounded by the size of a page."""

import mimetypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TextIO

from tools_app.errors import ToolError
from tools_app.paging import end_of_page, size

_MAX_COUNTED = 100_000  # lines counted after the page, which bounds the time for a huge file
_COUNTED_AT_ONCE = 1024**2  # characters
_MAX_SECONDS = 3.0  # seconds for a page, because the thread that reads it cannot be cancelled


@dataclass(frozen=True, kw_only=True)
class TextPosition:
    """A position in a text: a line, from 1, and the number of its characters to skip."""

    line: int = 1
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class TextPage:
    """Lines in the format of `cat -n`, and the start of the next page; None at the end of the file.

    `total` is the number of lines that were counted; `has_more` means that the file has more.
    """

    lines: Sequence[str]
    next: TextPosition | None
    total: int
    has_more: bool


def read_text_page(file: TextIO, begin: TextPosition, limit: int | None, room: int) -> TextPage:
    """Return complete lines from `begin` on, at most `limit` of them within `room` bytes. A long line is cut.

    `file` must not translate line ends.

    Raises: ToolError beyond the end, or too far into a huge file.
    """
    max_chars, deadline = max(room, 1), monotonic() + _MAX_SECONDS
    lines, text, stop = _NumberedLines(limit, room), "\n", None
    last = _skip_lines(file, begin.line - 1, max_chars, deadline)
    if last < begin.line - 1 and monotonic() > deadline:
        raise ToolError(f"Line {begin.line} is too far in this file to be read here. Use sed or tail in the shell.")
    for position, text in _chunks(file, last + 1, max_chars):
        last = position.line
        if (shown := _after(begin, position, text)) and (stop := lines.add(*shown)):
            break
    if not lines.shown and begin.line > 1:
        raise ToolError(f"There is no line {begin.line}: the file has {last}.")
    more = _skip_lines(file, _MAX_COUNTED, max_chars, deadline, is_inside=not text.endswith("\n"))
    has_more = more == _MAX_COUNTED or monotonic() > deadline
    return TextPage(lines=lines.shown, next=stop, total=last + more, has_more=has_more)


def line_from_end(file: TextIO, count: int) -> int:
    """Return the number of the first of the last `count` lines, and at least 1.

    Raises: ToolError for a huge file.
    """
    deadline, total, text = monotonic() + _MAX_SECONDS, 0, "\n"
    while chunk := file.read(_COUNTED_AT_ONCE):
        if monotonic() > deadline:
            raise ToolError("This file is too long to be read from its end here. Use tail in the shell.")
        total, text = total + chunk.count("\n"), chunk
    return max(1, total + (not text.endswith("\n")) - count + 1)


def _skip_lines(file: TextIO, lines: int, max_chars: int, deadline: float, *, is_inside: bool = False) -> int:
    """Skip `lines` lines. Return their number, which is lower at the end of the file or when time runs out.

    `is_inside` means that the rest of a line comes first.
    """
    skipped = 0
    while (skipped < lines or is_inside) and monotonic() < deadline and (text := file.readline(max_chars)):
        skipped += not is_inside
        is_inside = text[-1] != "\n"
    return skipped


def _chunks(file: TextIO, line: int, max_chars: int) -> Iterator[tuple[TextPosition, str]]:
    """Yield the lines from `line` on with their positions. Lines over `max_chars` are split."""
    offset = 0
    while text := file.readline(max_chars):
        yield TextPosition(line=line, offset=offset), text
        line, offset = (line + 1, 0) if text.endswith("\n") else (line, offset + len(text))


def _after(begin: TextPosition, position: TextPosition, text: str) -> tuple[TextPosition, str] | None:
    """Return the part of a chunk that is not before `begin`, or None."""
    hidden = begin.offset - position.offset if position.line == begin.line else 0
    if position.line < begin.line or (hidden > 0 and hidden >= len(text.removesuffix("\n"))):
        return None
    return (position, text) if hidden <= 0 else (replace(position, offset=begin.offset), text[hidden:])


class _NumberedLines:
    """Numbered lines, collected within a number of bytes."""

    def __init__(self, limit: int | None, room: int) -> None:
        self.shown: list[str] = []
        self._limit, self._room = limit, room
        self._line = 0

    def add(self, position: TextPosition, text: str) -> TextPosition | None:
        """Add a line. Return the start of the next page if it did not fit completely."""
        is_new = position.line != self._line
        if is_new and len(self.shown) == self._limit:
            return position
        text = text.removesuffix("\r\n").removesuffix("\n").replace("\0", "\ufffd")
        room = self._room - (size(f"{position.line:6}\t") + 1 if is_new else 0)
        fits = size(text) <= room
        if not fits and is_new and self.shown:
            return position
        end = len(text) if fits else end_of_page(text, 0, room)
        if is_new:
            self.shown.append(f"{position.line:6}\t{text[:end]}")
            self._line = position.line
        else:
            self.shown[-1] += text[:end]
        self._room = room - size(text[:end])
        return None if fits else replace(position, offset=position.offset + end)


def media_type(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "application/octet-stream"
