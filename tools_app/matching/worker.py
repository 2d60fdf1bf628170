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
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import NamedTuple

from tools_app.errors import ToolError
from tools_app.files import as_text, clipped, folded, safe_open
from tools_app.files.paths import MOUNT
from tools_app.matching.patterns import MatchRequest, MatchResult, path_pattern
from tools_app.matching.tree import DocumentFound, FoundFile, UnsearchableFile, UnsearchedFiles, files
from tools_app.paging import fitting_items, size

MEMORY = 1024**3  # bytes

WIDTH = 400  # characters of a line
_MATCH_OFFSET = 100  # characters of a long line before the match
_MAX_MATCH_LINES = 30  # lines of a match that are shown
# A line end, or a dot or a set that matches line ends: such a pattern means several lines.
_ACROSS_LINES = re.compile(
    r"\n|(?<!\\)(?:\\\\)*(?:\\n|\(\?[a-rt-z]*+s[a-z]*+[:)-]|\[(?:\\s\\S|\\S\\s|\\w\\W|\\W\\w|\\d\\D|\\D\\d)\])"
)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")  # warnings about patterns, which nobody would read
    query = MatchRequest(**json.load(sys.stdin))
    signal.setitimer(signal.ITIMER_REAL, 2 * query.seconds + 2)
    _enter_workspace(query)
    json.dump(asdict(_answer(query)), sys.stdout)


def _enter_workspace(query: MatchRequest) -> None:
    with safe_open.folder(query.root, query.workspace_names) as folder:  # the owner may have no access to its parents
        os.fchdir(folder)
    if query.owner:
        load_codecs()
        drop_privileges(*query.owner)


def load_codecs() -> None:
    """Import every codec of the standard library.

    Python imports codecs on first use, when the owner may have no access to their folder, as in root's home with pyenv.
    """
    for file in os.listdir(*encodings.__path__):
        with suppress(LookupError):  # only on Windows, or missing in this build of Python
            codecs.lookup(file.removesuffix(".py"))


def drop_privileges(uid: int, gid: int) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def _answer(query: MatchRequest) -> MatchResult:
    try:
        with safe_open.as_tool_errors("/".join(query.target_names) or "The workspace"):
            return search(query)
    except (re.error, OverflowError, RecursionError) as error:
        return MatchResult(lines=[], error=f"The pattern is not valid: {error}.")
    except ToolError as error:
        return MatchResult(lines=[], error=str(error))


class _Hit(NamedTuple):
    """A match from line `first` to line `last`, counted from 0. It starts in `column` of its first line."""

    first: int
    last: int
    column: int


class MatchingLines:
    """Matching lines, as `12:text`, with context lines, as `13-text`, under the name of their file.

    They start with match number `first` and take up to `room` bytes, but at least one match. All matches are counted.
    An expression that names line ends is searched in the complete text, any other in each line.
    """

    def __init__(self, expression: re.Pattern[str], context: int, first: int, room: int) -> None:
        self.lines: list[str] = []
        self.shown = 0
        self.total = 0
        self._expression, self._context, self._first, self._room = expression, context, first, room
        self._hits = _hits_across_lines if _ACROSS_LINES.search(expression.pattern) else _hits_in_lines

    def add(self, path: str, text: str) -> None:
        lines = text.removesuffix("\n").split("\n")
        hits = list(self._hits(self._expression, text, lines))
        begin = max(0, self._first - 1 - self.total) if self._room > 0 else len(hits)
        self.total += len(hits)
        end = 0
        for number in range(begin, len(hits)):
            block, next_end = self._block(lines, hits, number, end)
            if not end:
                block = [path, *block]
            self._room -= sum(size(line) + 1 for line in block)
            if self._room < 0 and self.lines:
                return
            self.lines += block
            self.shown += 1
            end = next_end

    def _block(self, lines: Sequence[str], hits: Sequence[_Hit], index: int, end: int) -> tuple[list[str], int]:
        """Return a match with context lines that are not shown yet, and the number of the next line."""
        hit = hits[index]
        start = max(end, hit.first - self._context)
        block = ["--"] if self._context and 0 < end < start else []
        shown_last = min(hit.last, max(hit.first, end) + _MAX_MATCH_LINES - 1)
        stop = min(shown_last + 1 + (self._context if shown_last == hit.last else 0), len(lines))
        for number in range(start, stop):
            last_begun = hits[bisect_right(hits, number, key=_first_line) - 1]
            is_match = last_begun.first <= number <= last_begun.last
            column = last_begun.column if number == last_begun.first else 0
            block.append(f"{number + 1}{':' if is_match else '-'}{_clipped(lines[number], column)}")
        if shown_last < hit.last:
            block.append(f"… (this match goes on to line {hit.last + 1})")
        return block, max(end, stop)


def _first_line(hit: _Hit) -> int:
    return hit.first


def _hits_in_lines(expression: re.Pattern[str], text: str, lines: Sequence[str]) -> Iterator[_Hit]:
    for number, line in enumerate(lines):
        if match := expression.search(line):
            yield _Hit(number, number, match.start())


def _hits_across_lines(expression: re.Pattern[str], text: str, lines: Sequence[str]) -> Iterator[_Hit]:
    """Yield the matches in the complete text, the first of those that start in the same line."""
    number = position = 0
    previous = -1
    for match in expression.finditer(text):
        start, end = match.span()
        number += text.count("\n", position, start)
        position = start
        if number != previous and number < len(lines):
            last = number + text.count("\n", start, max(start, end - 1))
            yield _Hit(number, min(last, len(lines) - 1), start - (text.rfind("\n", 0, start) + 1))
            previous = number


def _clipped(line: str, position: int) -> str:
    """Return a line, or the part of a long line around `position`."""
    if len(line) <= WIDTH:
        return line
    start = max(0, position - _MATCH_OFFSET)
    return ("…" if start else "") + line[start : start + WIDTH] + "…"


def search(query: MatchRequest) -> MatchResult:
    """Search below the working directory.

    Raises: OSError, re.error, OverflowError, RecursionError
    """
    deadline = time.monotonic() + query.seconds
    unsearched = UnsearchedFiles()
    answer = (_glob if query.action == "glob" else _grep)(query, deadline, unsearched)
    return replace(answer, is_complete=time.monotonic() < deadline, unsearched=unsearched.lines())


def _glob(query: MatchRequest, deadline: float, unsearched: UnsearchedFiles) -> MatchResult:
    matches = _matching_files(query, query.pattern, deadline, unsearched)
    newest = sorted(((file.modified(), file.path) for file in matches), reverse=True)
    lines = fitting_items((as_text(path) for _, path in newest[query.offset - 1 :]), query.room)
    return MatchResult(lines=lines, shown_matches=len(lines), total_matches=len(newest))


def _grep(query: MatchRequest, deadline: float, unsearched: UnsearchedFiles) -> MatchResult:
    expression = re.compile(query.pattern, re.MULTILINE | (re.IGNORECASE if query.ignore_case else 0))
    matches = MatchingLines(expression, query.context, query.offset, query.room)
    documents: list[str] = []
    for file in _matching_files(query, query.glob, deadline, unsearched):
        try:
            if text := file.text():
                matches.add(as_text(file.path), text)
            if clipped.is_clipped(file.path):
                unsearched.add(file.path, "the middle of this output, which was not kept")
        except UnsearchableFile as error:
            unsearched.add(file.path, str(error))
        except DocumentFound:
            documents.append(as_text(file.path))
        except MemoryError:
            unsearched.add(file.path, "too large for the memory of a search")
        except Exception as error:  # noqa: BLE001  one bad file must not end the search; its reason is reported
            unsearched.add(file.path, f"{type(error).__name__}: {error}")
    return MatchResult(
        lines=matches.lines, shown_matches=matches.shown, total_matches=matches.total, documents=documents
    )


def _matching_files(
    query: MatchRequest, pattern: str, deadline: float, unsearched: UnsearchedFiles
) -> Iterator[FoundFile]:
    """Yield files whose path, relative to the searched folder, matches `pattern`, until the deadline."""
    exact, loose = _path_expression(query, pattern), _path_expression(query, pattern, loose=True)
    itself = query.view_prefix + "/".join(query.target_names)
    for walked in files(".", query.target_names, unsearched):
        if time.monotonic() > deadline:
            return
        file = replace(walked, path=query.view_prefix + walked.path)
        if file.path == itself or exact.fullmatch(file.path) or loose.fullmatch(_folded_path(file.path)):
            yield file


def _folded_path(path: str) -> str:
    return "/".join(map(folded, path.split("/")))


def _path_expression(query: MatchRequest, pattern: str, *, loose: bool = False) -> re.Pattern[str]:
    pattern = pattern.removeprefix(f"/{MOUNT}").removeprefix("./") or "*"
    if pattern.endswith("/"):
        pattern += "**"
    folder = query.view_prefix + "".join((folded(name) if loose else name) + "/" for name in query.target_names)
    flags = re.IGNORECASE if query.ignore_case else 0
    return path_pattern(pattern, folder=folder, braces=True, flags=flags, is_loose=loose)
