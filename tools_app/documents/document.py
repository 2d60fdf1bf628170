"""The document model: parts with a title (pages, sheets, slides, chapters), each a sequence of lines."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tools_app.documents.sheet import Sheet

NO_TEXT = "[This page has no text: it is a picture, such as a scan. Look at it as a picture (view: picture).]"
DAMAGED = "[The file is damaged here: text can be missing.]"
LONGEST_LINE = 1_000  # characters; a paragraph can fill a page, and the page of a tool's result ends at a line end
_BAR = re.compile(r"(?<!\S)\||\|(?!\S)")  # one that would look like the end of a cell
# Characters that readers do not see or databases do not store: control characters, lone surrogates, and invisible
# characters that can carry hidden words (zero-width, direction marks, tags).
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class DocumentParseError(Exception):
    """An unreadable document. The message is the reason, as a sentence."""


@dataclass(frozen=True, kw_only=True)
class ParsedPart:
    """A page, sheet, slide or chapter of a document. `lines` can be lazy and are iterated once.

    `size` measures a sheet, for its title. `source` are its lines with formulas, and `sheet` its cells.
    """

    title: str
    lines: Iterable[str]
    size: Callable[[], str] | None = None
    source: Iterable[str] | None = None
    sheet: Sheet | None = None


@dataclass(frozen=True, kw_only=True)
class ParsedDocument:
    """An opened document. `kind` is its format ("PDF"), `unit` the name of its parts ("page")."""

    kind: str
    unit: str
    title: str = ""
    parts: Sequence[ParsedPart]


def pages_of(pages: Sequence[Iterable[str]], unit: str) -> list[ParsedPart]:
    """Return parts whose titles are only their numbers."""
    return [ParsedPart(title=f"{unit} {number} of {len(pages)}", lines=lines) for number, lines in enumerate(pages, 1)]


def row(cells: Sequence[str]) -> str:
    """Return a row of a table. Each cell is reduced to one line."""
    texts = (" ".join(cell.split()) for cell in cells)
    return f"| {' | '.join(_BAR.sub('¦', text) if '|' in text else text for text in texts)} |"


def visible(text: str) -> str:
    """Return the text without invisible characters, with line feeds as line ends."""
    return _INVISIBLE.sub("", text.replace("\r\n", "\n"))


def tidy(lines: Iterable[str]) -> Iterator[str]:
    """Yield single lines of visible text, at most LONGEST_LINE long, without repeated, leading or trailing
    blank lines.
    """
    after_gap = has_started = False
    for text in lines:
        for line in visible(text).split("\n"):
            if not line.strip():
                after_gap = has_started
                continue
            if after_gap:
                yield ""
            after_gap, has_started = False, True
            yield from _wrapped(line.rstrip())


def _wrapped(line: str) -> Iterator[str]:
    while len(line) > LONGEST_LINE:
        end = line.rfind(" ", LONGEST_LINE // 2, LONGEST_LINE) + 1 or LONGEST_LINE
        yield line[:end].rstrip()
        line = line[end:]
    yield line
