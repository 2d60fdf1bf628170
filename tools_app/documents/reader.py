"""The document reader: PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, HTML, e-mail, CSV and notebooks.

Each document is a sequence of parts (pages, sheets, slides, chapters …), read in a child process with limits.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.documents.formats import is_pdf
from tools_app.errors import ToolError

MOST_BYTES = 50 * 1000**2  # of a document; the largest upload of a person
ROOM = 500_000  # bytes of text in one answer
_LIMITS = ChildLimits(wall_s=60, cpu_s=30)


class UnreadableDocument(ToolError):
    """The document cannot be read."""


@dataclass(frozen=True, kw_only=True)
class TableExcerpt:
    """Rows of a sheet with `last_row` and `last_column`, from 1. The merged ranges are (top, left, bottom, right).

    A column has "number", "name" and "is_hidden", a row has "number", "is_hidden", "cells" and "are_numbers".
    """

    columns: Sequence[dict[str, Any]]
    rows: Sequence[dict[str, Any]]
    merged: Sequence[Sequence[int]]
    last_row: int
    last_column: int


@dataclass(frozen=True, kw_only=True)
class PartExcerpt:
    """A page, sheet, slide or chapter, numbered from 1. `lines` are those from number `line` on, counted from 1.

    If it is not `whole`, the room ended before the part did. No line has more than `document.LONGEST_LINE` characters.
    If it has a `table`, its rows begin with number `line`, and `lines` are the words around them.
    """

    number: int
    title: str
    line: int
    lines: Sequence[str]
    whole: bool
    table: TableExcerpt | None = None


@dataclass(frozen=True, kw_only=True)
class DocumentExcerpt:
    """A document with `count` parts called `unit` ("page"), and the requested `parts`. `kind` is its format ("PDF").

    `names` are those of all sheets of a workbook.
    """

    kind: str
    unit: str
    title: str
    count: int
    parts: Sequence[PartExcerpt]
    names: Sequence[str] = ()


async def read_document(
    data: bytes,
    name: str,
    *,
    part: int = 1,
    line: int = 1,
    room: int = ROOM,
    is_source: bool = False,
    has_tables: bool = False,
) -> DocumentExcerpt:
    """Return the parts from number `part` on, the first of them from `line` on, in about `room` bytes, at least one
    line. A negative `part` counts from the end.

    `name` is used in messages, and identifies formats without a signature. A workbook has a source: formulas, and
    numbers as they are stored. With `has_tables`, a sheet has a table, and no other part follows it.

    Raises: UnreadableDocument.
    """
    request = {"name": name, "part": part, "line": line, "room": room, "is_source": is_source, "has_tables": has_tables}
    answer = await _answer("tools_app.documents.child", request, data, name)
    return DocumentExcerpt(**answer | {"parts": [*map(_part, answer["parts"])]})


def _part(values: dict[str, Any]) -> PartExcerpt:
    table = TableExcerpt(**values["table"]) if values.get("table") else None
    return PartExcerpt(**values | {"table": table})


def part_heading(part: PartExcerpt) -> str:
    """Return the line that introduces the part."""
    return f"--- {part.title} ---"


Region = tuple[float, float, float, float]  # left, top, right and bottom, as shares of a page
WHOLE_PAGE: Region = (0, 0, 1, 1)


@dataclass(frozen=True, kw_only=True)
class PageSheet:
    """Pages of a PDF as one PNG, the number of the last one of them, and the number of all pages."""

    picture: bytes
    last: int
    total: int


async def page_picture(data: bytes, name: str, page: int) -> bytes:
    """Return a page of a PDF, counted from 1, as a PNG.

    Raises: UnreadableDocument, also for any other format.
    """
    return (await page_sheet(data, name, page, 1)).picture


async def page_sheet(data: bytes, name: str, page: int, pages: int, region: Region = WHOLE_PAGE) -> PageSheet:
    """Return as many pages of a PDF, from number `page` on, side by side, each with its number; or a region of one.

    Raises: UnreadableDocument, also for any other format.
    """
    if not is_pdf(data):
        raise UnreadableDocument(
            f"{name} is no PDF: only pages of a PDF can be drawn here. Convert it to PDF first, "
            "with LibreOffice in the shell where it is installed."
        )
    answer = await _answer(
        "tools_app.documents.pdf_pictures", {"page": page, "pages": pages, "region": region}, data, name
    )
    return PageSheet(picture=base64.b64decode(answer["picture"]), last=answer["last"], total=answer["total"])


async def _answer(module: str, request: dict[str, Any], data: bytes, name: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await answer_of(module, request, data, limits=_LIMITS)
    except NoAnswer as error:
        raise UnreadableDocument(
            f"{name} is too large or too complex to be read here. Read a part of it with Python in the shell."
        ) from error
    if "error" in answer:
        raise UnreadableDocument(f"{name} cannot be read. {answer['error']}")
    return answer
