"""The page of one workspace file: text, code, Markdown, pictures, documents, or HTML in a sandbox."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from tasks_app.access import Request, signed_in, visible_session
from tasks_app.models import Session
from tasks_app.pages.document_view import document_html
from tasks_app.pages.markdown import PICTURES, markdown
from tasks_app.record import redactor_of
from tasks_app.runtime import event_loop
from tasks_app.workspace.downloads import HEADERS
from tasks_app.workspace.folders import workspace_of
from tools_app.documents import PartExcerpt, TableExcerpt, is_document, is_pdf, page_picture, read_document
from tools_app.errors import ToolError
from tools_app.files import detect_encoding

MAX_TEXT_BYTES = 200_000
MAX_DOCUMENT_BYTES = 30 * 1000**2
_HEAD_BYTES = 2048
_OFFICE = ("Word", "PowerPoint", "OpenDocument text", "OpenDocument presentation")
_INNER_BAR = re.compile(r"(?<=\S)\|(?=\S)")  # part of a cell's text
_TABLES = (".csv", ".tsv")
_STATES = {" (very hidden)": _("very hidden"), " (hidden)": _("hidden")}
_ROWS = 500  # rows before the first one that is shown, for the link to them


@signed_in
@require_GET
def show(request: Request, session_id: UUID, path: str) -> HttpResponse:
    """Show a file, or part `?page=` of a document, a sheet from its row with index `?row=` on (both from 1)."""
    session, name = visible_session(request.user, session_id), path.rpartition("/")[2]
    head = _read(session, path, MAX_TEXT_BYTES + 1)
    context = {"session": session, "path": path, "name": redactor_of(session).redacted(name)}
    if name.lower().endswith(PICTURES):
        return render(request, "file.html", context | {"kind": "picture"})
    if name.lower().endswith((".html", ".htm")):
        return render(request, "file.html", context | {"kind": "page"})
    if is_document(head[:_HEAD_BYTES], name) or name.lower().endswith(_TABLES):
        document = _document(session, path, _number(request, "page"), _number(request, "row"))
        return render(request, "file.html", context | document)
    return render(request, "file.html", context | _text(session, name, head))


@signed_in
@require_GET
def page(request: Request, session_id: UUID, number: int, path: str) -> HttpResponse:
    """Return the picture of a PDF page, drawn in a child process."""
    session = visible_session(request.user, session_id)
    try:
        data = workspace_of(session).read_bytes(path, MAX_DOCUMENT_BYTES)
        png = event_loop.submit(page_picture(data, path, number)).result()
    except ToolError as error:
        raise Http404(str(error)) from error
    return HttpResponse(png, content_type="image/png", headers=HEADERS)


def _number(request: Request, name: str) -> int:
    text = request.GET.get(name, "")
    return max(1, int(text)) if text.isdecimal() and len(text) < 8 else 1


def _read(session: Session, path: str, limit: int) -> bytes:
    try:
        with workspace_of(session).open_for_read(path) as file:
            return file.read(limit)
    except ToolError as error:
        raise Http404(str(error)) from error


def _document(session: Session, path: str, number: int, row: int) -> dict[str, Any]:
    try:
        data = workspace_of(session).read_bytes(path, MAX_DOCUMENT_BYTES)
        reading = read_document(data, path, part=number, line=row, room=MAX_TEXT_BYTES, has_tables=True)
        document = event_loop.submit(reading).result()
    except ToolError as error:
        return {"kind": "", "problem": str(error)}
    part, has_pages = document.parts[0] if document.parts else None, is_pdf(data[:_HEAD_BYTES])
    lines = part.lines if part else ()
    table = _table(session, part, part.table) if part and part.table else None
    is_office = document.kind.startswith(_OFFICE)
    title = part.title if part and not table else ""
    text = redactor_of(session).redacted("\n".join(lines if has_pages or is_office else _with_tables(lines)))
    return {
        "kind": "document",
        "about": document.kind,
        "title": "" if re.match(r"(page|slide|chapter|cell) \d", title) else redactor_of(session).redacted(title),
        "unit": document.unit,
        "count": document.count,
        "page": number,
        "before": number - 1,
        "after": number + 1 if number < document.count else 0,
        "is_pdf": has_pages and title.startswith("page "),
        "is_hidden": part is not None and not table and part.title.endswith("(hidden)"),
        "is_cut": part is not None and not part.whole and not table,
        "table": table,
        "sheets": [_sheet_name(name) for name in document.names],
        "text": text,
        "html": "" if has_pages else document_html(text) if is_office else markdown(text),
    }


def _sheet_name(title: str) -> dict[str, str]:
    """Return the name of a sheet and its state, from a title such as "sheet Data (hidden)"."""
    name = title.removeprefix("sheet ")
    for ending, state in _STATES.items():
        if name.endswith(ending):
            return {"name": name.removesuffix(ending), "state": str(state)}
    return {"name": name, "state": ""}


def _table(session: Session, part: PartExcerpt, table: TableExcerpt) -> dict[str, Any]:
    """Return rows of cells for a table with merged cells, without the cells that these cover."""
    numbers = [row["number"] for row in table.rows]
    columns = [column["number"] for column in table.columns]
    spans: dict[tuple[int, int], tuple[int, int]] = {}
    covered: set[tuple[int, int]] = set()
    cells_left = len(numbers) * len(columns)
    for top, left, bottom, right in table.merged:
        rows = range(bisect_left(numbers, top), bisect_right(numbers, bottom))
        places = range(bisect_left(columns, left), bisect_right(columns, right))
        is_shown = rows and places and numbers[rows[0]] == top and columns[places[0]] == left
        cells_left -= len(rows) * len(places)
        if not is_shown or cells_left < 0:  # ranges that overlap could be without end
            continue
        others = [place for place in product(rows, places) if place != (rows[0], places[0])]
        if not any(table.rows[row]["cells"][place] for row, place in others):
            spans[rows[0], places[0]] = (len(rows), len(places))
            covered.update(others)
    texts = "\x1f".join(text for row in table.rows for text in row["cells"])
    redacted = iter(redactor_of(session).redacted(texts).split("\x1f"))
    rows_of_cells = []
    for index, row in enumerate(table.rows):
        cells = []
        for place, text in enumerate(islice(redacted, len(columns))):
            height, width = spans.get((index, place), (1, 1))
            if (index, place) in covered:
                continue
            is_number = row["are_numbers"][place]
            cells.append({"text": text, "height": height, "width": width, "is_number": is_number})
        rows_of_cells.append({"number": row["number"], "is_hidden": row["is_hidden"], "cells": cells})
    row_count = ngettext("{} row", "{} rows", table.last_row).format(_grouped(table.last_row))
    column_count = ngettext("{} column", "{} columns", table.last_column).format(_grouped(table.last_column))
    return {
        "columns": table.columns,
        "rows": rows_of_cells,
        "size": f"{row_count} × {column_count}",
        "before": max(1, part.line - _ROWS) if part.line > 1 else 0,
        "after": 0 if part.whole else part.line + len(numbers),
    }


def _grouped(number: int) -> str:
    return number_format(number, force_grouping=True)


def _with_tables(lines: Iterable[str]) -> Iterator[str]:
    """Add the separator lines that Markdown needs below the first row of a table."""
    previous_line = ""
    for line in lines:
        is_row = line.startswith("| ")
        yield _INNER_BAR.sub(r"\\|", line) if is_row else f"{line}  "  # a line break in Markdown
        if is_row and not previous_line.startswith("| "):
            yield "|" + " --- |" * (line.count(" |"))
        previous_line = line


def _decoded(head: bytes) -> tuple[str, str] | None:
    """Return the text and the encoding that was guessed, or None for binary data. The last character may be cut."""
    is_cut = len(head) > MAX_TEXT_BYTES
    head = head[:MAX_TEXT_BYTES]
    encoding = detect_encoding(head[: head.rfind(b"\n") + 1] or head if is_cut else head)
    if not encoding or (encoding.codec == "utf-8" and b"\0" in head):
        return None
    text = encoding.readable(head)
    return (text.rstrip("\ufffd") if is_cut else text), str(encoding) if encoding.is_guess else ""


def _text(session: Session, name: str, head: bytes) -> dict[str, Any]:
    """Return the context of a text: Markdown rendered, all else as code, highlighted if the language is known."""
    if not (decoded := _decoded(head)):
        return {"kind": ""}
    text, guess = redactor_of(session).redacted(decoded[0]), decoded[1]
    suffix = name.rpartition(".")[2].lower()
    if suffix not in ("md", "markdown"):
        fence = "`" * (3 + max(map(len, re.findall("`+", text)), default=0))
        text = f"{fence}{suffix if suffix.isalnum() else ''}\n{text}\n{fence}"
    files = f"{session.get_absolute_url()}files/"
    return {"kind": "text", "html": markdown(text, files), "is_cut": len(head) > MAX_TEXT_BYTES, "guess": guess}
