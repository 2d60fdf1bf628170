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
from tools_app.matching.patterns import MatchRequest, MatchResult, path_pattern
from tools_app.matching.tree import DocumentFound, FoundFile, UnsearchableFile, UnsearchedFiles, files
from tools_app.paging import fitting_items, size

MEMORY = 1024**3  # bytes

WIDTH = 400  # characters of a line
_MATCH_OFFSET = 100  # characters of a long line before the match


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
        shown_hits = hits[max(0, self._first - 1 - self.total) :] if self._room > 0 else []
        self.total += len(hits)
        end = 0
        for hit in shown_hits:
            block, next_end = self._block(lines, hit, end)
            if not end:
                block = [path, *block]
            self._room -= sum(size(line) + 1 for line in block)
            if self._room < 0 and self.lines:
                return
            self.lines += block
            self.shown += 1
            end = next_end

    def _block(self, lines: Sequence[str], hit: int, end: int) -> tuple[list[str], int]:
        """Return a match with context lines that are not shown yet, and the number of the next line."""
        start = max(end, hit - self._context)
        block = ["--"] if self._context and 0 < end < start else []
        stop = min(hit + self._context + 1, len(lines))
        for number in range(start, stop):
            match = self._expression.search(lines[number])
            separator, position = (":", match.start()) if match else ("-", 0)
            block.append(f"{number + 1}{separator}{_clipped(lines[number], position)}")
        return block, max(end, stop)


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
    expression = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
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
