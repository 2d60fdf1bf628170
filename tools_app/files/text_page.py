"""Pages of a text file with line numbers, read as a stream: memory use is bounded by the size of a page."""

import mimetypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TextIO

from tools_app.errors import ToolError
from tools_app.paging import end_of_page, size

_COUNTED = 100_000  # lines counted after the page, which bounds the time for a huge file
_LONGEST_S = 3.0  # seconds for a page, because the thread that reads it cannot be cancelled


@dataclass(frozen=True, kw_only=True)
class Place:
    """A position in a text: a line, from 1, and the number of its characters to skip."""

    line: int = 1
    skip: int = 0


@dataclass(frozen=True, kw_only=True)
class TextPage:
    """Lines in the format of `cat -n`, and the start of the next page; None at the end of the file.

    `total` is the number of lines that were counted; `has_more` means that the file has more.
    """

    lines: Sequence[str]
    next: Place | None
    total: int
    has_more: bool


def page(file: TextIO, begin: Place, limit: int | None, room: int) -> TextPage:
    """Return complete lines from `begin` on, at most `limit` of them within `room` bytes. A long line is cut.

    `file` must not translate line ends.

    Raises: ToolError beyond the end, or too far into a huge file.
    """
    most, until = max(room, 1), monotonic() + _LONGEST_S
    lines, text, stop = _Lines(limit, room), "\n", None
    last = _passed(file, begin.line - 1, most, until)
    if last < begin.line - 1 and monotonic() > until:
        raise ToolError(f"Line {begin.line} is too far in this file to be read here. Use sed or tail in the shell.")
    for place, text in _pieces(file, last + 1, most):
        last = place.line
        if (rest := _behind(begin, place, text)) and (stop := lines.add(*rest)):
            break
    if not lines.shown and begin.line > 1:
        raise ToolError(f"There is no line {begin.line}: the file has {last}.")
    more = _passed(file, _COUNTED, most, until, is_inside=not text.endswith("\n"))
    has_more = more == _COUNTED or monotonic() > until
    return TextPage(lines=lines.shown, next=stop, total=last + more, has_more=has_more)


def _passed(file: TextIO, lines: int, most: int, until: float, *, is_inside: bool = False) -> int:
    """Skip `lines` lines. Return their number, which is lower at the end of the file or when time runs out.

    `is_inside` means that the rest of a line comes first.
    """
    begun = 0
    while (begun < lines or is_inside) and monotonic() < until and (text := file.readline(most)):
        begun += not is_inside
        is_inside = text[-1] != "\n"
    return begun


def _pieces(file: TextIO, line: int, most: int) -> Iterator[tuple[Place, str]]:
    """Yield the lines from `line` on with their places. Lines over `most` characters are split."""
    skip = 0
    while text := file.readline(most):
        yield Place(line=line, skip=skip), text
        line, skip = (line + 1, 0) if text.endswith("\n") else (line, skip + len(text))


def _behind(begin: Place, place: Place, text: str) -> tuple[Place, str] | None:
    """Return the part of a piece that is not before `begin`, or None."""
    before = begin.skip - place.skip if place.line == begin.line else 0
    if place.line < begin.line or (before > 0 and before >= len(text.removesuffix("\n"))):
        return None
    return (place, text) if before <= 0 else (replace(place, skip=begin.skip), text[before:])


class _Lines:
    """Numbered lines, collected within a number of bytes."""

    def __init__(self, limit: int | None, room: int) -> None:
        self.shown: list[str] = []
        self._limit, self._room = limit, room
        self._line = 0

    def add(self, place: Place, text: str) -> Place | None:
        """Add a line. Return the start of the next page if it did not fit completely."""
        is_new = place.line != self._line
        if is_new and len(self.shown) == self._limit:
            return place
        text = text.removesuffix("\r\n").removesuffix("\n").replace("\0", "\ufffd")
        room = self._room - (size(f"{place.line:6}\t") + 1 if is_new else 0)
        fits = size(text) <= room
        if not fits and is_new and self.shown:
            return place
        end = len(text) if fits else end_of_page(text, 0, room)
        self._take(place.line, text[:end])
        self._room = room - size(text[:end])
        return None if fits else replace(place, skip=place.skip + end)

    def _take(self, line: int, text: str) -> None:
        if line == self._line:
            self.shown[-1] += text
        else:
            self.shown.append(f"{line:6}\t{text}")
            self._line = line


def media_type(path: str) -> str:
    return mimetypes.guess_type(path)[0] or "application/octet-stream"
