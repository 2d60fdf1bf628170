"""The two searches: names of files, newest first, and lines in files."""

import heapq
import re
import time
from collections.abc import Iterator

from tools_app.listing import printable
from tools_app.matching.lines import MatchingLines
from tools_app.matching.pattern import compiled
from tools_app.matching.query import Answer, Query
from tools_app.matching.tree import Found, files
from tools_app.paths import MOUNT

SHOWN = 200  # matches


def search(query: Query) -> Answer:
    """Searches below the working directory. Raises OSError, re.error, OverflowError and RecursionError."""
    deadline = time.monotonic() + query.seconds
    return _glob(query, deadline) if query.action == "glob" else _grep(query, deadline)


def _glob(query: Query, deadline: float) -> Answer:
    newest: list[tuple[float, str]] = []
    total = 0
    for found in _wanted(query, query.pattern, deadline):
        total += 1
        heapq.heappush(newest, (found.modified(), found.path))
        if len(newest) > SHOWN:
            heapq.heappop(newest)
    lines = [printable(path) for _, path in sorted(newest, reverse=True)]
    return Answer(lines=lines, shown=len(lines), total=total, complete=time.monotonic() < deadline)


def _grep(query: Query, deadline: float) -> Answer:
    expression = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    matches = MatchingLines(expression, query.context, SHOWN)
    for found in _wanted(query, query.glob, deadline):
        if text := found.text():
            matches.add(printable(found.path), text)
    return Answer(lines=matches.lines, shown=matches.shown, total=matches.total, complete=time.monotonic() < deadline)


def _wanted(query: Query, pattern: str, deadline: float) -> Iterator[Found]:
    """The files whose path matches `pattern`, relative to the folder that is searched, until the time is over."""
    expression = _expression(query, pattern)
    itself = "/".join(query.names)
    for found in files(".", query.names):
        if time.monotonic() > deadline:
            return
        if found.path == itself or expression.fullmatch(found.path):
            yield found


def _expression(query: Query, pattern: str) -> re.Pattern[str]:
    pattern = pattern.removeprefix(f"/{MOUNT}").removeprefix("./") or "*"
    if pattern.endswith("/"):
        pattern += "**"
    folder = "".join(name + "/" for name in query.names)
    return compiled(pattern, beneath=folder, braces=True, flags=re.IGNORECASE if query.ignore_case else 0)
