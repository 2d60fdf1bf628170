"""Word (.docx): headings, paragraphs and tables in their order."""

from collections.abc import Iterator
from typing import BinaryIO

import docx
from docx.document import Document as WordDocument
from docx.table import Table
from docx.text.paragraph import Paragraph

from tools_app.documents.unreadable import Document, Unreadable, row


def open_document(file: BinaryIO) -> Document:
    """Raises Unreadable."""
    try:
        document = docx.Document(file)
    except Exception as error:  # damaged parts make the library raise anything
        raise Unreadable("It is damaged, or no Word document that can be read here.") from error
    return Document(title=document.core_properties.title or "", lines=_lines(document))


def _lines(document: WordDocument) -> Iterator[str]:
    for part in document.iter_inner_content():
        if isinstance(part, Table):
            yield from (row([cell.text for cell in cells.cells]) for cells in part.rows)
            yield ""
        elif part.text.strip():
            yield f"{_mark(part)}{part.text}\n"


def _mark(paragraph: Paragraph) -> str:
    style = (paragraph.style.name if paragraph.style else "") or ""
    if style.startswith("Heading ") and style[8:].isdigit():
        return "#" * min(int(style[8:]), 6) + " "
    return {"Title": "# "}.get(style, "- " if style.startswith("List") else "")
