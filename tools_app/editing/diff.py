"""A unified diff of two versions of a file, bounded in size and cost."""

import difflib
import re
from collections.abc import Iterable
from itertools import islice

MAX_LINES = 200
MAX_WIDTH = 300  # characters of a line
_MAX_COMPARED = 500  # lines of each version; difflib is cubic in the worst case
_CONTEXT = 3
_MORE = "… (more changes follow)"  # no line of a diff begins so
_NO_END = "\n\\ No newline at end of file"  # git's wording


def unified(before: str, after: str, path: str) -> str:
    """Return the first differences, at most MAX_LINES lines, or "" if the lines are equal."""
    old, new = _lines(before), _lines(after)
    start = max(0, _count_equal(old, new) - _CONTEXT)
    old, new = old[start:], new[start:]
    equal_end = max(0, _count_equal(reversed(old), reversed(new)) - _CONTEXT)
    old, new = old[: len(old) - equal_end], new[: len(new) - equal_end]
    is_cut = max(len(old), len(new)) > _MAX_COMPARED
    diff = difflib.unified_diff(old[:_MAX_COMPARED], new[:_MAX_COMPARED], path, path, n=_CONTEXT, lineterm="")
    lines = [
        _shifted_header(line, start) if line.startswith("@@") else line[:MAX_WIDTH]
        for line in islice(diff, MAX_LINES + 1)
    ]
    if is_cut or len(lines) > MAX_LINES:
        lines[MAX_LINES - 1 :] = [_MORE]
    return "\n".join(lines)


def is_complete(diff: str) -> bool:
    """Return whether the diff has all changes, and all of each line."""
    lines = diff.split("\n")
    return lines[-1] != _MORE and all(len(line) < MAX_WIDTH for line in lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        return [*lines[:-1], lines[-1] + _NO_END]
    return lines[:-1]


def _count_equal(old: Iterable[str], new: Iterable[str]) -> int:
    """Return the number of equal lines at the beginning."""
    count = 0
    for old_line, new_line in zip(old, new, strict=False):
        if old_line != new_line:
            break
        count += 1
    return count


def _shifted_header(header: str, offset: int) -> str:
    """Return the header of a hunk with its line numbers relative to the beginning of the file."""
    return re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + offset), header)
