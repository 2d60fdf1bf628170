"""The replacement of a text in a file, and the reason why it is not found.

A text is found exactly, or without the line numbers of a reading, or up to white space at line ends. A place that
differs in other white space is only named: the replacement would have the wrong white space too.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from tools_app.editing.differences import (
    difference_in_words,
    differences_in_words,
    first_difference,
    nearest_start,
    numbered,
    same_but_white_space,
    shown,
    similar_lines,
    squeezed,
)
from tools_app.errors import ToolError
from tools_app.files.encoding import UTF_8, Encoding, detect_encoding

_MAX_LISTED = 5  # lines or positions in a message
_MAX_OFFERED = 2000  # characters of the text to use instead
_MIN_DONE = 10  # characters of a replacement that shows by its presence that it was made before
# The numbers of `file read` and of other harnesses' readings, then those of `match` and grep, which also stand in data.
_READING = re.compile(r" *(\d{1,7})[\t→]")
_PREFIXES = (_READING, re.compile(r" *(\d{1,7}): "), re.compile(r" *(\d{1,7})[:-]"), re.compile(r" *(\d{1,7}) ?\| ?"))


@dataclass(frozen=True, kw_only=True)
class Edit:
    """The file's new content, the number of the first replaced line (from 1) and the number of replacements.

    `note` names the difference up to which the text was found, or is "".
    """

    data: bytes
    text: str
    line: int
    count: int
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class _Places:
    """The spans of a text to replace by `new`."""

    spans: Sequence[tuple[int, int]]
    new: str
    note: str = ""


def replace(data: bytes, old: str, new: str, *, everywhere: bool, limit: int, encoding: Encoding | None = None) -> Edit:
    """Replace `old`, which must occur exactly once unless `everywhere`. Encoding and line ends are unchanged.

    `encoding` is the data's, if it is not to be detected.

    Raises: ToolError, with the first difference or the positions for the model; also if the result is over `limit`
    bytes.
    """
    encoding = encoding or detect_encoding(data) or UTF_8
    text = encoding.decode(data)
    before, after = _with_line_ends_of(text, old, new)
    first, note = text.find(before), ""
    if first >= 0 and (everywhere or text.find(before, first + 1) < 0):
        count = text.count(before) if everywhere else 1
        growth = count * (len(encoding.encode(after)) - len(encoding.encode(before)))
        replaced = partial(text.replace, before, after, count)
    elif first >= 0:
        raise ToolError(_ambiguous(text, before))
    else:
        places = _without_numbers(text, old, new) or _up_to_line_ends(text, old, new, everywhere=everywhere)
        if not places:
            raise ToolError(_not_found(text, old, new))
        first, count, note = places.spans[0][0], len(places.spans), places.note
        removed = sum(len(encoding.encode(text[start:end])) for start, end in places.spans)
        growth = count * len(encoding.encode(places.new)) - removed
        replaced = partial(_replaced, text, places)
    if len(data) + growth > limit:
        raise ToolError("The file would become too large. Use the shell for it.")
    line = text.count("\n", 0, first) + 1
    text = replaced()
    return Edit(data=encoding.bom + encoding.encode(text), text=text, line=line, count=count, note=note)


def has_crlf(text: str) -> bool:
    """Return whether most lines end with CR LF."""
    return 2 * text.count("\r\n") > text.count("\n")


def _replaced(text: str, places: _Places) -> str:
    parts, position = [], 0
    for start, end in places.spans:
        parts += [text[position:start], places.new]
        position = end
    return "".join([*parts, text[position:]])


def _without_numbers(text: str, old: str, new: str) -> _Places | None:
    """Return the place of a text that was copied from a reading with its line numbers.

    It is the place at the numbered line, or else the only one. Numbers that also stand in data need the former.
    """
    lines = text.split("\n")
    for prefix in _PREFIXES:
        if not (numbering := _numbers_off(prefix, old)):
            continue
        number, bare = numbering
        before, after = _with_line_ends_of(text, bare, _new_without_numbers(prefix, new))
        named = sum(len(line) + 1 for line in lines[: number - 1])
        if bare.strip() and text.startswith(before, named):
            starts = [named]
        elif bare.strip() and prefix is _READING:
            starts = list(islice(_positions("\n" + text, "\n" + before), 2))
        else:
            starts = []
        if len(starts) == 1:
            span = (starts[0], starts[0] + len(before))
            return _Places(spans=[span], new=after, note="line numbers taken off")
    return None


def _numbers_off(prefix: re.Pattern[str], text: str) -> tuple[int, str] | None:
    """Return the first number and the text without its numbers, or None unless all lines have one, in order."""
    lines = _with_lf(text).split("\n")
    end = [lines.pop()] if not lines[-1] and len(lines) > 1 else []
    matches = [prefix.match(line) for line in lines]
    numbers = [int(match[1]) for match in matches if match]
    if not numbers or numbers != list(range(numbers[0], numbers[0] + len(lines))):
        return None
    bare = [line[match.end() :] for line, match in zip(lines, matches, strict=True) if match]
    return numbers[0], "\n".join(bare + end)


def _new_without_numbers(prefix: re.Pattern[str], new: str) -> str:
    """Return the replacement without line numbers, if all its lines have one.

    Raises: ToolError if only some have one.
    """
    lines = _with_lf(new).split("\n")
    matches = [prefix.match(line) for line in lines]
    are_numbered = [bool(match) for match, line in zip(matches, lines, strict=True) if line]
    if any(are_numbered) and all(are_numbered):
        return "\n".join(line[match.end() :] if match else line for match, line in zip(matches, lines, strict=True))
    if any(are_numbered) and prefix is _READING:
        raise ToolError("Some lines of new begin with line numbers. Send old and new without them.")
    return new


def _up_to_line_ends(text: str, old: str, new: str, *, everywhere: bool) -> _Places | None:
    """Return the places that differ only in white space at line ends, or in the end of the file's last line."""
    candidates = _spans_up_to_line_ends(text, old)
    if everywhere:
        spans: list[tuple[int, int]] = []
        for span in candidates:
            spans += [span] if not spans or span[0] >= spans[-1][1] else []
    else:
        spans = list(islice(candidates, 2))
    if not spans:
        return None
    if len(spans) > 1 and not everywhere:
        raise ToolError(_ambiguous(text, text[slice(*spans[0])], [text.count("\n", 0, start) for start, _ in spans]))
    after = with_crlf(new) if has_crlf(text) else _with_lf(new)
    if spans[-1][1] == len(text) and not text.endswith("\n") and old.endswith("\n"):
        after = after.removesuffix("\n").removesuffix("\r")
    return _Places(spans=spans, new=after, note="up to white space at line ends")


def _spans_up_to_line_ends(text: str, old: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the text whose lines equal those of `old` without white space at their ends.

    The first line of `old` can begin within a line, and its last line can end within one.
    """
    wanted = _with_lf(old).split("\n")
    lines = text.split("\n")
    if not old.strip():
        return
    if not wanted[-1] and lines[-1]:
        lines.append("")  # the last line of the file lacks its end
    bare, bare_wanted = [line.rstrip() for line in lines], [line.rstrip() for line in wanted]
    first, height = bare_wanted[0], len(wanted)
    is_open_end = wanted[-1] == bare_wanted[-1]  # it can end within a line
    is_whole_start = not first and bool(wanted[0])
    offset = 0
    for index in range(len(lines) - height + 1):
        last = index + height - 1
        fits = (
            bare[index].endswith(first)
            and not (is_whole_start and bare[index])
            and bare[index + 1 : last] == bare_wanted[1:-1]
            and (height == 1 or (lines[last].startswith(wanted[-1]) if is_open_end else bare[last] == bare_wanted[-1]))
        )
        if fits:
            start = offset + len(bare[index]) - len(first)
            last_offset = offset + sum(len(line) + 1 for line in lines[index:last])
            width = len(wanted[-1]) if is_open_end and height > 1 else len(lines[last].removesuffix("\r"))
            yield start, min(last_offset + width, len(text))
        offset += len(lines[index]) + 1


def _with_line_ends_of(text: str, old: str, new: str) -> tuple[str, str]:
    """Return both texts with the line ends of the file. Models see and write lines without CR."""
    styles: list[Callable[[str], str]] = [_with_lf, with_crlf]
    if has_crlf(text):
        styles.reverse()
    style = next((style for style in styles if style(old) in text), styles[0])
    return style(old), style(new)


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def with_crlf(text: str) -> str:
    """Return the text with CR LF at each line end."""
    return _with_lf(text).replace("\n", "\r\n")


def _ambiguous(text: str, old: str, numbers: Sequence[int] = ()) -> str:
    numbers = numbers or [text.count("\n", 0, position) for position in islice(_positions(text, old), _MAX_LISTED)]
    return (
        f"old occurs {max(2, text.count(old))} times. Add lines around it until it is unique, or set replace_all. "
        "The first places are:\n" + numbered(text.split("\n"), numbers)
    )


def _positions(text: str, old: str) -> Iterator[int]:
    position = text.find(old)
    while position >= 0:
        yield position
        position = text.find(old, position + 1)


def _not_found(text: str, old: str, new: str) -> str:
    """Return the reason why nothing was replaced: the first difference from the nearest place."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    reason = f"old occurs 0 times in these {len(lines)} lines"
    if len(new.strip()) >= _MIN_DONE and (done := _with_line_ends_of(text, new, "")[0]) in text:
        return f"{reason}, but new is there already, in line {text.count(chr(10), 0, text.find(done)) + 1}."
    numbering = _numbers_off(_READING, old)
    wanted = []
    for candidate in (old, numbering[1]) if numbering else (old,):
        wanted = _with_lf(candidate).removesuffix("\n").split("\n")
        if places := list(islice(same_but_white_space(lines, wanted), _MAX_LISTED)):
            return f"{reason}. {_only_white_space(lines, wanted, places)}"
    start = nearest_start(lines, wanted)
    if start is None:
        return f"{reason}. No line is similar."
    number = first_difference(lines, start, wanted) or 0
    listed = range(start + max(0, number - 1), min(start + max(number, len(wanted)), start + number + _MAX_LISTED - 1))
    words = differences_in_words(lines, start, wanted, "yours")
    similar = [index for index in listed if index < len(lines)]
    if len(wanted) == 1:
        similar = sorted(similar_lines(lines, wanted[0], 3))
    return f"{reason}. It differs: {words}. The nearest lines are:\n{numbered(lines, similar)}"


def _only_white_space(lines: Sequence[str], wanted: Sequence[str], places: Sequence[tuple[int, int]]) -> str:
    """Return the first difference in white space, and the text to use instead."""
    first, last = places[0]
    begin, end = _borders(lines, first, last, [line for line in wanted if line.strip()])
    block = list(lines[first : last + 1])
    block[-1] = block[-1][:end]
    block[0] = block[0][begin:]
    words = f"Only white space differs: {_first_white_space(block, wanted, first + 1)}."
    if len(places) > 1:
        starts = [start for start, _ in places]
        return f"{words} It is alike in {len(places)} places:\n{numbered(lines, starts)}"
    text = shown("\n".join(block))
    if len(text) > _MAX_OFFERED:
        return f"{words} Read lines {first + 1} to {last + 1} and copy them exactly."
    return f"{words} Call it again with old={json.dumps(text, ensure_ascii=False)}, and the same white space in new."


def _borders(lines: Sequence[str], first: int, last: int, wanted: Sequence[str]) -> tuple[int, int]:
    """Return the columns at which the wanted lines begin in the first line and end in the last line."""
    count = len(squeezed(wanted[0]))
    line, key = lines[first], squeezed(lines[first])
    before = key.find(squeezed(wanted[0])) if len(wanted) == 1 else len(key) - count
    begin = 0 if not before and wanted[0][0].isspace() else _column(line, before)
    if len(wanted) > 1:
        return begin, _column(lines[last], len(squeezed(wanted[-1])) - 1) + 1
    return begin, _column(line, before + count - 1) + 1


def _column(line: str, count: int) -> int:
    """Return the column of the character that `count` others come before, not counting white space."""
    columns = (column for column, character in enumerate(line) if not character.isspace())
    return next(islice(columns, count, None), len(line))


def _first_white_space(block: Sequence[str], wanted: Sequence[str], number: int) -> str:
    """Return the first difference of two blocks that are equal up to white space. The first has line `number`."""
    wanted = list(wanted)
    while wanted and not wanted[0].strip():
        wanted.pop(0)
    for index, (actual, line) in enumerate(zip(block, wanted, strict=False)):
        if bool(actual.strip()) != bool(line.strip()):
            has = "an empty line more" if actual.strip() else "no empty line there"
            return f"line {number + index} is {'not ' if actual.strip() else ''}empty, yours has {has}"
        if actual.rstrip() != line.rstrip():
            return difference_in_words(number + index, actual, line, "yours")
    return f"yours has other empty lines or line ends around line {number}"
