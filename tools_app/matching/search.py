"""The two searches: names of files, newest first, and lines in files."""

import heapq
import re
import time
from collections.abc import Iterator
from dataclasses import replace

from tools_app.files.listing import printable
from tools_app.files.paths import MOUNT
from tools_app.matching.lines import MatchingLines
from tools_app.matching.patterns import compiled
from tools_app.matching.query import Answer, Query
from tools_app.matching.tree import Found, files
from tools_app.matching.unsearched import Unsearchable, Unsearched

SHOWN = 200  # matches


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


def _wanted(query: Query, pattern: str, deadline: float, unsearched: Unsearched) -> Iterator[Found]:
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
    return compiled(pattern, beneath=folder, braces=True, flags=re.IGNORECASE if query.ignore_case else 0)
