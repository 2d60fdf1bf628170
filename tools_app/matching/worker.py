"""The search process: reads a Query from stdin and writes an Answer to stdout."""

import codecs
import encodings
import json
import os
import re
import resource
import signal
import sys
import time
import unicodedata  # noqa: F401  `re` imports it with the first \N{…}
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from tools_app.errors import ToolError
from tools_app.files import as_text, clipped, folded, safe_open
from tools_app.files.paths import MOUNT
from tools_app.matching.patterns import Answer, Query, path_pattern
from tools_app.matching.tree import FoundFile, IsDocument, Unsearchable, Unsearched, files
from tools_app.paging import fitting, size

MEMORY = 1024**3  # bytes

WIDTH = 400  # characters of a line
_BEFORE = 100  # characters of a long line before the match


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")  # warnings about patterns, which nobody would read
    query = Query(**json.load(sys.stdin))
    signal.setitimer(signal.ITIMER_REAL, 2 * query.seconds + 2)
    _enter(query)
    json.dump(asdict(_answer(query)), sys.stdout)


def _enter(query: Query) -> None:
    with safe_open.folder(query.root, query.place) as folder:  # the owner may have no access to its parents
        os.fchdir(folder)
    if query.owner:
        load_codecs()
        become(*query.owner)


def load_codecs() -> None:
    """Import every codec of the standard library.

    Python imports codecs on first use, when the owner may have no access to their folder, as in root's home with pyenv.
    """
    for file in os.listdir(*encodings.__path__):
        with suppress(LookupError):  # only on Windows, or missing in this build of Python
            codecs.lookup(file.removesuffix(".py"))


def become(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _answer(query: Query) -> Answer:
    try:
        with safe_open.in_words("/".join(query.names) or "The workspace"):
            return search(query)
    except (re.error, OverflowError, RecursionError) as error:
        return Answer(lines=[], error=f"The pattern is not valid: {error}.")
    except ToolError as error:
        return Answer(lines=[], error=str(error))


class MatchingLines:
    """Matching lines, as `12:text`, with context lines, as `13-text`, under the name of their file.

    They start with match number `first` and take up to `room` bytes, but at least one match. All matches are counted.
    """

    def __init__(self, expression: re.Pattern[str], context: int, first: int, room: int) -> None:
        self.lines: list[str] = []
        self.shown = 0
        self.total = 0
        self._expression, self._context, self._first, self._room = expression, context, first, room

    def add(self, path: str, text: str) -> None:
        lines = text.removesuffix("\n").split("\n")
        hits = [number for number, line in enumerate(lines) if self._expression.search(line)]
        wanted = hits[max(0, self._first - 1 - self.total) :] if self._room > 0 else []
        self.total += len(hits)
        end = 0
        for hit in wanted:
            block, next_end = self._block(lines, hit, end)
            if not self._put(block if end else [path, *block]):
                return
            end = next_end

    def _block(self, lines: Sequence[str], hit: int, end: int) -> tuple[list[str], int]:
        """Return a match with context lines that are not shown yet, and the number of the next line."""
        start = max(end, hit - self._context)
        block = ["--"] if self._context and 0 < end < start else []
        stop = min(hit + self._context + 1, len(lines))
        for number in range(start, stop):
            match = self._expression.search(lines[number])
            mark, place = (":", match.start()) if match else ("-", 0)
            block.append(f"{number + 1}{mark}{_clipped(lines[number], place)}")
        return block, max(end, stop)

    def _put(self, block: Sequence[str]) -> bool:
        """Add a block if there is room, and return whether there was."""
        self._room -= sum(size(line) + 1 for line in block)
        if self._room < 0 and self.lines:
            return False
        self.lines += block
        self.shown += 1
        return True


def _clipped(line: str, place: int) -> str:
    """Return a line, or the part of a long line around `place`."""
    if len(line) <= WIDTH:
        return line
    start = max(0, place - _BEFORE)
    return ("…" if start else "") + line[start : start + WIDTH] + "…"


def search(query: Query) -> Answer:
    """Search below the working directory.

    Raises: OSError, re.error, OverflowError, RecursionError
    """
    deadline = time.monotonic() + query.seconds
    unsearched = Unsearched()
    answer = (_glob if query.action == "glob" else _grep)(query, deadline, unsearched)
    return replace(answer, complete=time.monotonic() < deadline, unsearched=unsearched.lines())


def _glob(query: Query, deadline: float, unsearched: Unsearched) -> Answer:
    wanted = _wanted(query, query.pattern, deadline, unsearched)
    newest = sorted(((found.modified(), found.path) for found in wanted), reverse=True)
    lines = fitting((as_text(path) for _, path in newest[query.offset - 1 :]), query.room)
    return Answer(lines=lines, shown=len(lines), total=len(newest))


def _grep(query: Query, deadline: float, unsearched: Unsearched) -> Answer:
    expression = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    matches = MatchingLines(expression, query.context, query.offset, query.room)
    documents: list[str] = []
    for found in _wanted(query, query.glob, deadline, unsearched):
        try:
            if text := found.text():
                matches.add(as_text(found.path), text)
            if clipped.is_clipped(found.path):
                unsearched.add(found.path, "the middle of this output, which was not kept")
        except Unsearchable as error:
            unsearched.add(found.path, str(error))
        except IsDocument:
            documents.append(as_text(found.path))
        except MemoryError:
            unsearched.add(found.path, "too large for the memory of a search")
        except Exception as error:  # noqa: BLE001  one bad file must not end the search; its reason is reported
            unsearched.add(found.path, f"{type(error).__name__}: {error}")
    return Answer(lines=matches.lines, shown=matches.shown, total=matches.total, documents=documents)


def _wanted(query: Query, pattern: str, deadline: float, unsearched: Unsearched) -> Iterator[FoundFile]:
    """Yield files whose path, relative to the searched folder, matches `pattern`, until the deadline."""
    exact, loose = _expression(query, pattern), _expression(query, pattern, loose=True)
    itself = query.prefix + "/".join(query.names)
    for each in files(".", query.names, unsearched):
        if time.monotonic() > deadline:
            return
        found = replace(each, path=query.prefix + each.path)
        if found.path == itself or exact.fullmatch(found.path) or loose.fullmatch(_folded_path(found.path)):
            yield found


def _folded_path(path: str) -> str:
    return "/".join(map(folded, path.split("/")))


def _expression(query: Query, pattern: str, *, loose: bool = False) -> re.Pattern[str]:
    pattern = pattern.removeprefix(f"/{MOUNT}").removeprefix("./") or "*"
    if pattern.endswith("/"):
        pattern += "**"
    folder = query.prefix + "".join((folded(name) if loose else name) + "/" for name in query.names)
    flags = re.IGNORECASE if query.ignore_case else 0
    return path_pattern(pattern, beneath=folder, braces=True, flags=flags, is_loose=loose)
