"""The place in a file that wanted lines nearly fit, and the first difference there, in words for the model."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from tools_app.files.encoding import UTF_8

_MAX_COMPARED_LINES = 5000  # lines compared to find a similar one
_MAX_COMPARED_LENGTH = 200  # characters compared of each
_MAX_PLACES = 50  # places of one line that are considered
_QUOTED = 100  # characters of a line that are quoted
_QUOTED_BEFORE = 40  # characters quoted before the first difference
_SPACES = {" ": "space", "\t": "tab", "\r": "carriage return", "\f": "form feed", "\xa0": "no-break space"}


def nearest_start(lines: Sequence[str], wanted: Sequence[str], named: int | None = None) -> int | None:
    """Return the index at which most of the wanted lines fit up to white space, or None if no line is similar.

    Of equally good places, the one nearest to the index `named` counts, or else the first.
    """
    keys = {key for line in wanted if (key := squeezed(line))}
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        if (key := squeezed(line)) in keys and len(places.setdefault(key, [])) < _MAX_PLACES:
            places[key].append(index)
    votes = Counter(
        index - number
        for number, line in enumerate(wanted)
        for index in places.get(squeezed(line), ())
        if index >= number
    )
    if votes:
        return min(votes, key=lambda start: (-votes[start], abs(start - (named or 0))))
    number = next((number for number, line in enumerate(wanted) if line.strip()), 0)
    similar = similar_lines(lines, wanted[number], 1)
    return max(0, similar[0] - number) if similar else None


def similar_lines(lines: Sequence[str], wanted: str, count: int) -> list[int]:
    """Return the indices of the lines that are most similar to `wanted`, ignoring outer white space."""
    first_indices: dict[str, int] = {}
    for index, line in enumerate(lines):
        first_indices.setdefault(line.strip()[:_MAX_COMPARED_LENGTH], index)
    candidates = list(first_indices)[:_MAX_COMPARED_LINES]
    matches = difflib.get_close_matches(wanted.strip()[:_MAX_COMPARED_LENGTH], candidates, count, cutoff=0.5)
    return [first_indices[line] for line in matches]


def squeezed(line: str) -> str:
    """Return the line without any white space."""
    return "".join(line.split())


def first_difference(lines: Sequence[str], start: int, wanted: Sequence[str]) -> int | None:
    """Return the number of the first wanted line that differs from the file's beyond its end, or None if none does."""
    return next(
        (
            number
            for number, line in enumerate(wanted)
            if start + number >= len(lines) or lines[start + number].rstrip() != line.rstrip()
        ),
        None,
    )


def differences_in_words(lines: Sequence[str], start: int, wanted: Sequence[str], owner: str) -> str:
    """Return the first difference from the lines at `start` on. If it is only white space, add the first other one."""
    numbers = [first_difference(lines, start, wanted) or 0]
    other = (
        number
        for number, line in enumerate(wanted)
        if start + number >= len(lines) or squeezed(lines[start + number]) != squeezed(line)
    )
    numbers += [number for number in islice(other, 1) if number != numbers[0]]
    clauses = []
    for number in numbers:
        actual = lines[start + number] if start + number < len(lines) else None
        clauses.append(difference_in_words(start + number + 1, actual, wanted[number], owner))
    return ", and ".join(clauses)


def difference_in_words(number: int, actual: str | None, wanted: str, owner: str) -> str:
    """Return the difference of a line, such as "line 7 begins with a tab, yours with 4 spaces".

    `number` counts from 1. `actual` is None beyond the end of the file. `owner` names the holder of the wanted line.
    """
    if actual is None:
        return f"the file ends before line {number}, where {owner} has {quoted(wanted)}"
    actual = actual.rstrip("\r")
    if squeezed(actual) == squeezed(wanted):
        return _white_space_in_words(number, actual, wanted, owner)
    column = _common_length(actual, wanted)
    words = f"line {number} is {quoted(actual, column)}, {owner} has {quoted(wanted, column)}"
    characters = actual[column : column + 1], wanted[column : column + 1]
    if not "".join(characters).isascii() and all(characters):
        words += f" ({_character(characters[0])}, not {_character(characters[1])})"
    return words


def _white_space_in_words(number: int, actual: str, wanted: str, owner: str) -> str:
    if not squeezed(actual):
        return f"line {number} has {_spaces(actual)}, {owner} {_spaces(wanted)}"
    begin, wanted_begin = (line[: len(line) - len(line.lstrip())] for line in (actual, wanted))
    if begin != wanted_begin:
        return f"line {number} begins with {_spaces(begin)}, {owner} with {_spaces(wanted_begin)}"
    before = actual[: _common_length(actual, wanted)].rstrip()
    gap, wanted_gap = (_spaces(line[len(before) :][: _gap_length(line[len(before) :])]) for line in (actual, wanted))
    if not squeezed(actual[len(before) :]):
        return f"line {number} ends with {gap}, {owner} with {wanted_gap}"
    return f"line {number} has {gap} after {quoted(before[-_QUOTED_BEFORE:])}, {owner} {wanted_gap}"


def quoted(text: str, column: int = 0) -> str:
    """Return the text in JSON, which shows white space, and of a long one the part around `column`."""
    start = max(0, column - _QUOTED_BEFORE) if len(text) > _QUOTED else 0
    end = "…" if len(text) > start + _QUOTED else ""
    return ("…" if start else "") + json.dumps(shown(text[start : start + _QUOTED]), ensure_ascii=False) + end


def numbered(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Return lines in the format of a reading."""
    return shown("\n".join(f"{number + 1:6}\t{lines[number][:_MAX_COMPARED_LENGTH].rstrip()}" for number in numbers))


def shown(text: str) -> str:
    """Return the text with replacement characters for invalid ones."""
    return UTF_8.readable(UTF_8.encode(text))


def same_but_white_space(lines: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the index of the first and of the last line of each place that is equal up to white space.

    The first and the last wanted line can be a part of the file's line. Empty lines do not count.
    """
    indices = [index for index, line in enumerate(lines) if line.strip()]
    keys = [squeezed(lines[index]) for index in indices]
    parts = [key for line in wanted if (key := squeezed(line))]
    if not parts:
        return
    first, *middle, last = parts if len(parts) > 1 else [*parts, ""]
    for number in range(len(keys) - len(parts) + 1):
        if len(parts) == 1:
            fits = first in keys[number]
        else:
            end = number + len(parts) - 1
            fits = keys[number].endswith(first) and keys[end].startswith(last) and keys[number + 1 : end] == middle
        if fits:
            yield indices[number], indices[number + len(parts) - 1]


def _common_length(text: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))


def _gap_length(text: str) -> int:
    return len(text) - len(text.lstrip())


def _spaces(text: str) -> str:
    """Return white space in words, such as "a tab and 2 spaces"."""
    runs = [(_SPACES.get(character, f"U+{ord(character):04X}"), len(list(run))) for character, run in groupby(text)]
    return " and ".join(f"a {name}" if count == 1 else f"{count} {name}s" for name, count in runs) or "no white space"


def _character(character: str) -> str:
    return f"{character} U+{ord(character):04X}"
