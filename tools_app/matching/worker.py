"""The process that searches: a Query on stdin, an Answer on stdout."""

import heapq
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from tools_app.errors import ToolError
from tools_app.files import printable
from tools_app.files.paths import MOUNT
from tools_app.files.safe_open import in_words
from tools_app.matching.patterns import path_pattern
from tools_app.matching.query import Answer, Query
from tools_app.matching.tree import FoundFile, Unsearchable, Unsearched, files

MEMORY = 1024**3  # bytes

ROOM = 50_000  # characters of all lines together
WIDTH = 400  # characters of a line
_BEFORE = 100  # of a long line, before the match

SHOWN = 200  # matches


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    query = Query(**json.load(sys.stdin))
    signal.setitimer(signal.ITIMER_REAL, 2 * query.seconds + 2)
    os.chdir(query.root)  # its parents may be closed to the owner
    if query.owner:
        _become(*query.owner)
    json.dump(asdict(_answer(query)), sys.stdout)


def _become(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _answer(query: Query) -> Answer:
    try:
        with in_words("/".join(query.names) or "The workspace"):
            return search(query)
    except (re.error, OverflowError, RecursionError) as error:
        return Answer(lines=[], error=f"The pattern is not valid: {error}.")
    except ToolError as error:
        return Answer(lines=[], error=str(error))


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


def search(query: Query) -> Answer:
    """Searches below the working directory. Raises OSError, re.error, OverflowError and RecursionError."""
    deadline = time.monotonic() + query.seconds
    unsearched = Unsearched()
    answer = (_glob if query.action == "glob" else _grep)(query, deadline, unsearched)
    return replace(answer, complete=time.monotonic() < deadline, unsearched=unsearched.lines())


def _glob(query: Query, deadline: float, unsearched: Unsearched) -> Answer:
    newest: list[tuple[float, str]] = []
    total = 0
    for found in _wanted(query, query.pattern, deadline, unsearched):
        total += 1
        heapq.heappush(newest, (found.modified(), found.path))
        if len(newest) > SHOWN:
            heapq.heappop(newest)
    lines = [printable(path) for _, path in sorted(newest, reverse=True)]
    return Answer(lines=lines, shown=len(lines), total=total)


def _grep(query: Query, deadline: float, unsearched: Unsearched) -> Answer:
    expression = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    matches = MatchingLines(expression, query.context, SHOWN)
    for found in _wanted(query, query.glob, deadline, unsearched):
        try:
            if text := found.text():
                matches.add(printable(found.path), text)
        except Unsearchable as error:
            unsearched.add(found.path, str(error))
    return Answer(lines=matches.lines, shown=matches.shown, total=matches.total)


def _wanted(query: Query, pattern: str, deadline: float, unsearched: Unsearched) -> Iterator[FoundFile]:
    """The files whose path matches `pattern`, relative to the folder that is searched, until the time is over."""
    expression = _expression(query, pattern)
    itself = "/".join(query.names)
    for found in files(".", query.names, unsearched):
        if time.monotonic() > deadline:
            return
        if found.path == itself or expression.fullmatch(found.path):
            yield found


def _expression(query: Query, pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix(f"/{MOUNT}").removeprefix("./") or "*"
    if pattern.endswith("/"):
        pattern += "**"
    folder = "".join(name + "/" for name in query.names)
    return path_pattern(pattern, beneath=folder, braces=True, flags=re.IGNORECASE if query.ignore_case else 0)
