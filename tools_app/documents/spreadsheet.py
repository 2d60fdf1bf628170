"""The Excel reader (.xlsx): each sheet as a table with row numbers and column letters, headers, footers and comments.

A cell with a formula shows the value that was last computed. If the program that wrote the file computed none, it shows
the formula.
"""

import re
from collections.abc import Iterator
from datetime import datetime, time
from io import BytesIO
from itertools import repeat
from posixpath import join, normpath
from typing import Any
from zipfile import ZipFile

import openpyxl  # type: ignore[import-untyped]
from openpyxl.utils import get_column_letter  # type: ignore[import-untyped]

from tools_app.documents.document import ParsedDocument, ParsedPart, row
from tools_app.documents.opendocument import local_name, parse, part

_FORMULA = re.compile(rb"<(\w+:)?f[\s>/]")
_RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_HEADER_FOOTER = re.compile(rb"<(?:\w+:)?headerFooter")
_HEADER_FOOTER_END = re.compile(rb"</(?:\w+:)?headerFooter>")
_PREFIX = re.compile(rb"<(/?)\w+:")  # a fragment does not declare prefixes
_FORMAT_CODE = re.compile(
    r'&(?:"[^"]*"|K[0-9A-F]{6}|K\d\d[+-]\d{3}|\d+|[A-Z])'
)  # fonts, colours, sizes and fields in headers and footers


def open_document(body: bytes) -> ParsedDocument:
    values = openpyxl.load_workbook(BytesIO(body), read_only=True, data_only=True)
    archive = ZipFile(BytesIO(body))
    paths = _paths(archive)
    formulas = None
    if any(_FORMULA.search(archive.read(path)) for path in paths.values() if path in archive.namelist()):
        formulas = openpyxl.load_workbook(BytesIO(body), read_only=True)
    parts = []
    for sheet in values.worksheets:
        hidden = "" if sheet.sheet_state == "visible" else " (hidden)"
        formula_sheet = formulas[sheet.title] if formulas else None
        lines = _lines(sheet, formula_sheet, archive, paths.get(sheet.title, ""))
        parts.append(ParsedPart(title=f"sheet {sheet.title}{hidden}", lines=lines))
    return ParsedDocument(kind="Excel workbook", unit="sheet", title=values.properties.title or "", parts=parts)


def _lines(sheet: Any, formula_sheet: Any, archive: ZipFile, path: str) -> Iterator[str]:
    formula_rows = _rows(formula_sheet, values_only=False) if formula_sheet else repeat(())
    width = 0
    for number, (values, formulas) in enumerate(zip(_rows(sheet, values_only=True), formula_rows, strict=False), 1):
        texts = [_text(value) for value in values]
        for column, cell in enumerate(formulas[: len(texts)]):
            texts[column] = texts[column] or _formula(cell.value)
        while texts and not texts[-1]:
            texts.pop()
        if len(texts) > width:
            width = len(texts)
            yield row(["", *map(get_column_letter, range(1, width + 1))])
        if texts:
            yield row([str(number), *texts])
    yield from _notes(archive, path)


def _rows(sheet: Any, *, values_only: bool) -> Iterator[Any]:
    sheet.reset_dimensions()  # the declared dimensions can be too small, which would drop cells
    rows: Iterator[Any] = sheet.iter_rows(values_only=values_only)
    return rows


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    if isinstance(value, bool):
        return str(value).upper()
    return "" if value is None else str(value)


def _formula(value: Any) -> str:
    text = getattr(value, "text", value)  # of an array formula
    return text if isinstance(text, str) and text.startswith("=") else ""


def _paths(archive: ZipFile) -> dict[str, str]:
    """Return the path of each sheet in the archive, by the sheet's name."""
    workbook, targets = part(archive, "xl/workbook.xml"), _targets(archive, "xl/workbook.xml")
    sheets = [] if workbook is None else workbook.iter("{*}sheet")
    return {sheet.get("name", ""): targets.get(sheet.get(_RELATION_ID, ""), ("", ""))[1] for sheet in sheets}


def _targets(archive: ZipFile, path: str) -> dict[str, tuple[str, str]]:
    """Return type and path of the parts that a part refers to, by relationship id (ISO 29500-2, 6.5)."""
    folder, _, name = path.rpartition("/")
    relations = part(archive, f"{folder}/_rels/{name}.rels")
    return {
        relation.get("Id", ""): (
            relation.get("Type", "").rpartition("/")[2],
            normpath(join("/", folder, relation.get("Target", ""))).lstrip("/"),
        )
        for relation in (relations if relations is not None else [])
    }


def _notes(archive: ZipFile, path: str) -> Iterator[str]:
    """Yield headers and footers (ISO 29500-1, 18.3.1.46), comments and threaded comments (18.7)."""
    if path not in archive.namelist():
        return
    sheet = archive.read(path)
    begin = _HEADER_FOOTER.search(sheet)
    if begin and (end := _HEADER_FOOTER_END.search(sheet, begin.end())):
        for element in parse(_PREFIX.sub(rb"<\1", sheet[begin.start() : end.end()])):
            if text := _FORMAT_CODE.sub(" ", element.text or "").strip():
                yield f"{local_name(element)[-6:].capitalize()}: {text}"
    for kind, target in _targets(archive, path).values():
        comments = part(archive, target) if kind in ("comments", "threadedComment") else None
        for comment in comments.iter("{*}comment", "{*}threadedComment") if comments is not None else ():
            text = " ".join("".join(comment.itertext("{*}t", "{*}text")).split())
            yield f"Comment on {comment.get('ref')}: {text}"
