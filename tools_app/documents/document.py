"""A document as its reader gives it: parts with a title (pages, sheets, slides, chapters), each a sequence of lines."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

NO_TEXT = "[This page has no text: it is a picture, such as a scan. Look at it as a picture.]"
LONGEST_LINE = 1_000  # characters; a paragraph may fill a page, and a page of a tool ends at the end of a line
_MOST_COLUMNS = 200  # of a table; a row of a sheet may have 16,384 cells
# What readers do not see or databases do not store: control characters, lone surrogates, and invisible characters that
# can carry hidden words (zero-width, direction marks, tags).
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class Unreadable(Exception):
    """The message says why, in a sentence."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A page, sheet, slide, chapter … of a document; `lines` may be produced lazily, and are iterated once."""

    title: str
    lines: Iterable[str]


@dataclass(frozen=True, kw_only=True)
class Document:
    """`kind` is what it is ("PDF"), `unit` what its parts are ("page")."""

    kind: str
    unit: str
    title: str = ""
    parts: Sequence[Part]


def pages_of(pages: Sequence[Iterable[str]], unit: str) -> list[Part]:
    """Parts that are called by their number alone."""
    return [Part(title=f"{unit} {number} of {len(pages)}", lines=lines) for number, lines in enumerate(pages, 1)]


def row(cells: Sequence[str]) -> str:
    """A row of a table; a cell keeps to its line."""
    shown = [" ".join(cell.split()).replace("|", "¦") for cell in cells[:_MOST_COLUMNS]]
    if len(cells) > _MOST_COLUMNS:
        shown.append(f"… {len(cells) - _MOST_COLUMNS} more columns")
    return f"| {' | '.join(shown)} |"


def visible(text: str) -> str:
    """The text without what is invisible in it, its lines ending in a line feed."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n"))


def tidy(lines: Iterable[str]) -> Iterator[str]:
    """Single lines of visible text, none over LONGEST_LINE, no two empty ones in a row and none at either end."""
    gap = started = False
    for text in lines:
        for line in visible(text).split("\n"):
            if not line.strip():
                gap = started
                continue
            if gap:
                yield ""
            gap, started = False, True
            yield from _broken(line.rstrip())


def _broken(line: str) -> Iterator[str]:
    while len(line) > LONGEST_LINE:
        end = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE) + 1 or LONGEST_LINE
        yield line[:end].rstrip()
        line = line[end:]
    yield line
