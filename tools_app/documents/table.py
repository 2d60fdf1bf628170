"""The CSV and TSV reader: one table with row numbers, in any encoding and with any usual delimiter."""

import csv
from collections.abc import Iterator
from io import StringIO

from tools_app.documents.document import Document, Unreadable, pages_of, row
from tools_app.files.encoding import encoding_of

_DELIMITERS = ",;\t|"
_SNIFFED = 10_000  # characters


def open_document(body: bytes) -> Document:
    """Open a table.

    Raises: Unreadable.
    """
    if not (encoding := encoding_of(body)):
        raise Unreadable("It is no text.")
    text = encoding.readable(body)
    csv.field_size_limit(len(text) + 1)
    return Document(kind="table", unit="sheet", parts=pages_of([_lines(text)], "sheet"))


def _lines(text: str) -> Iterator[str]:
    """Yield the rows (RFC 4180)."""
    for number, cells in enumerate(csv.reader(StringIO(text, newline=""), delimiter=_delimiter(text[:_SNIFFED])), 1):
        yield row([str(number), *cells])


def _delimiter(head: str) -> str:
    lines = [line for line in head.splitlines()[:20] if line]
    return max(
        _DELIMITERS, key=lambda each: sorted(line.count(each) for line in lines)[len(lines) // 2] if lines else 0
    )
