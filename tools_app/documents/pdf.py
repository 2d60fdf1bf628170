"""PDF, page by page."""

from collections.abc import Iterator
from typing import BinaryIO

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from tools_app.documents.unreadable import Document, Unreadable


def open_document(file: BinaryIO) -> Document:
    """Raises Unreadable."""
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("It is encrypted and needs a password.")
        title = str(reader.metadata.title or "") if reader.metadata else ""
        return Document(title=title, lines=_lines(reader))
    except PyPdfError as error:
        raise Unreadable("It is damaged, or no PDF that can be read here.") from error


def _lines(reader: PdfReader) -> Iterator[str]:
    number = len(reader.pages)
    words = 0
    for position, page in enumerate(reader.pages, 1):
        yield f"--- page {position} of {number} ---"
        try:
            text = page.extract_text()
        except Exception as error:  # noqa: BLE001  one damaged page makes the parser raise anything; others may be whole
            text = f"[this page cannot be read: {type(error).__name__}]"
        words += len(text.strip())
        yield f"{text}\n"
    if not words:
        yield "[Its pages hold no text: they are pictures, such as scans.]"
