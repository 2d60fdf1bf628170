"""The CSV and TSV reader: one table with row numbers, in any encoding and with any usual delimiter."""

import csv
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from io import StringIO
from itertools import islice

from tools_app.documents.document import DocumentParseError, ParsedDocument, ParsedPart, row
from tools_app.documents.sheet import SheetLayout, SheetRow
from tools_app.files.encoding import detect_encoding

_DELIMITERS = "\t;|,"  # a comma is also part of texts and numbers, so it comes last
_SNIFFED = 100  # rows
_MAX_SNIFFED = 100_000  # characters


def open_document(body: bytes) -> ParsedDocument:
    """Open a table.

    Raises: DocumentParseError.
    """
    if not (encoding := detect_encoding(body)):
        raise DocumentParseError("It is no text.")
    sheet = _TextSheet(encoding.readable(body))
    lines = (row([str(line.number), *line.texts]) for line in sheet.rows())
    part = ParsedPart(title="sheet 1 of 1", size=lambda: sheet.layout.size, lines=lines, sheet=sheet)
    return ParsedDocument(kind="table", unit="sheet", parts=[part])


class _TextSheet:
    """A table as text (RFC 4180). Excel's line `sep=;` at its beginning names the delimiter."""

    def __init__(self, text: str) -> None:
        first, _, others = text.partition("\n")
        named = first.strip().lower().removeprefix("sep=") if first[:4].lower() == "sep=" else ""
        self._text = others if len(named) == 1 else text
        self._delimiter = named if len(named) == 1 else _delimiter(text[:_MAX_SNIFFED])

    @cached_property
    def layout(self) -> SheetLayout:
        last_row = last_column = 0
        for line in self.rows():
            last_row, last_column = line.number, max(last_column, len(line.texts))
        return SheetLayout(last_row=last_row, last_column=last_column, columns=range(1, last_column + 1))

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        for number, cells in enumerate(_rows(self._text, self._delimiter), 1):
            yield SheetRow(number=number, texts=cells)


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(len(text) + 1)
    return csv.reader(StringIO(text, newline=""), delimiter=delimiter)


def _delimiter(head: str) -> str:
    """Return the delimiter that gives most rows the same number of cells, more than one."""
    best, best_share = ",", 0.0
    for delimiter in _DELIMITERS:
        widths = Counter(len(cells) for cells in islice(_rows(head, delimiter), _SNIFFED) if any(cells))
        width, rows = max(widths.items(), key=lambda item: (item[0] > 1, item[1]), default=(0, 0))
        share = rows / widths.total() if width > 1 else 0.0
        if share > best_share:
            best, best_share = delimiter, share
    return best
