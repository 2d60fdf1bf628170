"""The program that reads a document in a child process: formats are intricate, and authors can be hostile."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from itertools import islice
from typing import Any

from tools_app.documents.document import DocumentParseError, ParsedDocument, ParsedPart, tidy, visible
from tools_app.documents.formats import open_document
from tools_app.documents.sheet import CellRange, Sheet, column_name

_MAX_ROWS = 500  # of a table in one answer
_MAX_MERGED = 5_000
_MAX_NOTES = 500  # lines below such a table
_CELL_BYTES = 10  # bytes around a cell
_HEADING_BYTES = 10  # bytes of "--- " and " ---" around a title, and of two line ends


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the requested parts of the document, or an error as a sentence.

    {"name", "part", "line", "room", "is_source"?, "has_tables"?} → {"kind", "unit", "title", "count", "parts"} or
    {"error"}. With tables, the answer has one part. If it is a sheet, `line` counts its rows.
    """
    try:
        document = open_document(body, request["name"])
        first, line, room = _first(request["part"], len(document.parts)), request["line"], request["room"]
        if request.get("has_tables") and (sheet := document.parts[first - 1 : first]) and sheet[0].sheet:
            parts = [_table(sheet[0], sheet[0].sheet, first, line, room)]
        else:
            parts = _parts(document, first, line, room, is_source=request.get("is_source", False))
        return {
            "kind": document.kind,
            "unit": document.unit,
            "title": document.title,
            "count": len(document.parts),
            "names": [part.title for part in document.parts if part.sheet],
            "parts": parts,
        }
    except DocumentParseError as error:
        return {"error": str(error)}


def _first(number: int, count: int) -> int:
    """Return the number of a part, counted from the end if it is negative."""
    return number if number > 0 else max(1, count + number + 1)


def _parts(document: ParsedDocument, first: int, line: int, room: int, *, is_source: bool) -> list[dict[str, Any]]:
    """Return the parts from number `first` on, the first of them from `line` on: whole lines, `room` bytes in total.

    Raises: DocumentParseError if the parts have no source.
    """
    parts: list[dict[str, Any]] = []
    for number, part in enumerate(document.parts[first - 1 :], first):
        start_line = line if number == first else 1
        lines: list[str] = []
        is_whole = True
        title = f"{part.title}: {part.size()}" if part.size else part.title
        text_lines = part.source if is_source else part.lines
        if text_lines is None:
            raise DocumentParseError("It has no source to show: read it without view.")
        room -= len(title.encode()) + _HEADING_BYTES
        if room < 0 and parts:
            break
        for line_number, text in enumerate(tidy(unless_damaged(text_lines)), 1):
            if line_number < start_line:
                continue
            room -= len(text.encode()) + 1
            if room < 0 and (lines or parts):
                is_whole = False
                break
            lines.append(text)
        if not lines and not is_whole:
            break
        parts.append({"number": number, "title": title, "line": start_line, "lines": lines, "whole": is_whole})
        if room < 0:
            break
    return parts


def _table(part: ParsedPart, sheet: Sheet, number: int, first_row: int, room: int) -> dict[str, Any]:
    """Return the rows of a sheet from the one with index `first_row` on, counted from 1, in `room` bytes."""
    layout = sheet.layout
    rows: list[dict[str, Any]] = []
    is_whole = True
    for line in islice(sheet.rows(), first_row - 1, None):
        texts = [visible(text) for text in line.texts]
        cells = [texts[column - 1] if column <= len(texts) else "" for column in layout.columns]
        room -= sum(len(cell.encode()) for cell in cells) + _CELL_BYTES * len(cells)
        if rows and (room < 0 or len(rows) == _MAX_ROWS):
            is_whole = False
            break
        numbers = set(line.numbers)
        are_numbers = [column - 1 in numbers for column in layout.columns]
        rows.append({"number": line.number, "is_hidden": line.is_hidden, "cells": cells, "are_numbers": are_numbers})
    columns = [
        {"number": column, "name": column_name(column), "is_hidden": column in layout.hidden_columns}
        for column in layout.columns
    ]
    return {
        "number": number,
        "title": f"{part.title}: {layout.size}",
        "line": first_row,
        "lines": [*islice(tidy(layout.notes), _MAX_NOTES)],
        "whole": is_whole,
        "table": {
            "columns": columns,
            "rows": rows,
            "merged": [*islice(map(astuple, _merged_in(layout.merged, rows)), _MAX_MERGED)],
            "last_row": layout.last_row,
            "last_column": layout.last_column,
        },
    }


def _merged_in(ranges: Sequence[CellRange], rows: Sequence[Mapping[str, Any]]) -> Iterator[CellRange]:
    """Yield the merged ranges that begin in the rows."""
    if rows:
        first, last = rows[0]["number"], rows[-1]["number"]
        yield from (merged for merged in ranges if first <= merged.first_row <= last)


def unless_damaged(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines until the part turns out to be damaged: libraries raise any error then, and other parts can be
    intact.
    """
    try:
        yield from lines
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  see above; the text reports it
        yield f"[What follows here cannot be read: {type(error).__name__}]"
