"""A unified diff of two versions of a file, bounded in size and cost."""

import difflib
import re
from collections.abc import Iterable
from itertools import islice

LINES = 200
WIDTH = 300  # characters of a line
_COMPARED = 500  # lines of each version; difflib is cubic in the worst case
_CONTEXT = 3
_MORE = "… (more changes follow)"  # no line of a diff begins so
_NO_END = "\n\\ No newline at end of file"  # git's wording


def unified(before: str, after: str, path: str) -> str:
    """Return the first differences, at most LINES lines, or "" if the lines are equal."""
    old, new = _lines(before), _lines(after)
    start = max(0, _common(old, new) - _CONTEXT)
    old, new = old[start:], new[start:]
    same_end = max(0, _common(reversed(old), reversed(new)) - _CONTEXT)
    old, new = old[: len(old) - same_end], new[: len(new) - same_end]
    cut = len(old) > _COMPARED or len(new) > _COMPARED
    diff = difflib.unified_diff(old[:_COMPARED], new[:_COMPARED], path, path, n=_CONTEXT, lineterm="")
    lines = [_moved(line, start) if line.startswith("@@") else line[:WIDTH] for line in islice(diff, LINES + 1)]
    if cut or len(lines) > LINES:
        lines[LINES - 1 :] = [_MORE]
    return "\n".join(lines)


def is_whole(diff: str) -> bool:
    """Return whether the diff has all changes, and all of each line."""
    lines = diff.split("\n")
    return lines[-1] != _MORE and all(len(line) < WIDTH for line in lines)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1]:
        return [*lines[:-1], lines[-1] + _NO_END]
    return lines[:-1]


def _common(old: Iterable[str], new: Iterable[str]) -> int:
    """Return the number of equal lines at the beginning."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _moved(header: str, by: int) -> str:
    """Return the header of a hunk with its line numbers relative to the beginning of the file."""
    return re.sub(r"(?<=[-+])\d+", lambda number: str(int(number[0]) + by), header)
