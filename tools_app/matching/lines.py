"""Lines that match, with their context, in a bounded space."""

import re
from collections.abc import Sequence

ROOM = 50_000  # characters of all lines together
WIDTH = 400  # characters of a line
_BEFORE = 100  # of a long line, before the match


class MatchingLines:
    """Collects lines as `12:text` (a match) and `13-text` (context) under their file's name, and counts the rest."""

    def __init__(self, expression: re.Pattern[str], context: int, limit: int) -> None:
        self.lines: list[str] = []
        self.shown = 0
        self.total = 0
        self._expression = expression
        self._context = context
        self._limit = limit
        self._room = ROOM

    def add(self, path: str, text: str) -> None:
        lines = text.removesuffix("\n").split("\n")
        hits = [number for number, line in enumerate(lines) if self._expression.search(line)]
        self.total += len(hits)
        end = 0
        for hit in hits:
            if self.shown >= self._limit or self._room <= 0:
                return
            if hit == hits[0]:
                self._put(path)
            end = self._show(lines, hit, end)

    def _show(self, lines: Sequence[str], hit: int, end: int) -> int:
        """Shows a match and the lines around it that are not shown yet; returns the line that comes next."""
        start = max(end, hit - self._context)
        if self._context and 0 < end < start:
            self._put("--")
        stop = min(hit + self._context + 1, len(lines))
        for number in range(start, stop):
            match = self._expression.search(lines[number])
            mark, place = (":", match.start()) if match else ("-", 0)
            self._put(f"{number + 1}{mark}{_clipped(lines[number], place)}")
        self.shown += 1
        return max(end, stop)

    def _put(self, line: str) -> None:
        self.lines.append(line)
        self._room -= len(line)


def _clipped(line: str, place: int) -> str:
    """A line, or of a long one the part around `place`."""
    if len(line) <= WIDTH:
        return line
    start = max(0, place - _BEFORE)
    return ("…" if start else "") + line[start : start + WIDTH] + "…"
