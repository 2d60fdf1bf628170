"""The CSV and TSV reader: one table with row numbers, in any encoding and with any usual delimiter."""

import csv
from collections.abc import Iterator
from io import StringIO

from tools_app.documents.document import DocumentParseError, ParsedDocument, pages_of, row
from tools_app.files.encoding import detect_encoding

_DELIMITERS = ",;\t|"
_SNIFFED = 10_000  # characters


def open_document(body: bytes) -> ParsedDocument:
    """Open a table.

    Raises: DocumentParseError.
    """
    if not (encoding := detect_encoding(body)):
        raise DocumentParseError("It is no text.")
    text = encoding.readable(body)
    csv.field_size_limit(len(text) + 1)
    return ParsedDocument(kind="table", unit="sheet", parts=pages_of([_lines(text)], "sheet"))


def _lines(text: str) -> Iterator[str]:
    """Yield the rows (RFC 4180)."""
    rows = csv.reader(StringIO(text, newline=""), delimiter=_delimiter(text[:_SNIFFED]))
    for number, cells in enumerate(rows, 1):
        yield row([str(number), *cells])


def _delimiter(head: str) -> str:
    """Return the delimiter with the highest median count per line."""
    lines = [line for line in head.splitlines()[:20] if line]

    def median_count(delimiter: str) -> int:
        return sorted(line.count(delimiter) for line in lines)[len(lines) // 2] if lines else 0

    return max(_DELIMITERS, key=median_count)
