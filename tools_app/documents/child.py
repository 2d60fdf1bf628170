"""Reads a document, in a child process (`reader`): its formats are intricate, and its author may be hostile."""

import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from io import BytesIO
from typing import Any

from tools_app.documents.unreadable import Unreadable

_MOST = 2_000_000  # characters
_MOST_UNPACKED = 500 * 1000**2  # bytes; an archive that holds more is a bomb
_FORMATS = {  # a file that an archive of the format holds → who reads it; each needs libraries of its own
    "word/document.xml": "text_document",
    "xl/workbook.xml": "spreadsheet",
    "ppt/presentation.xml": "presentation",
}


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, str]:
    """{"title", "text"}, or {"error"} with a sentence."""
    try:
        reader = import_module(f"tools_app.documents.{_format(body)}")
        document = reader.open_document(BytesIO(body))
        return {"title": document.title, "text": _joined(document.lines)}
    except Unreadable as error:
        return {"error": str(error)}


def _format(body: bytes) -> str:
    if not body.startswith(b"PK"):
        return "pdf"
    try:
        with zipfile.ZipFile(BytesIO(body)) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile as error:
        raise Unreadable("It is damaged.") from error
    if sum(entry.file_size for entry in entries) > _MOST_UNPACKED:
        raise Unreadable("It is too large when unpacked.")
    names = {entry.filename for entry in entries}
    found = next((module for name, module in _FORMATS.items() if name in names), "")
    if not found:
        raise Unreadable("It is an archive, not a PDF, Word, Excel or PowerPoint document.")
    return found


def _joined(lines: Iterator[str]) -> str:
    kept, size = [], 0
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        if size > _MOST:
            kept.append("[… the document goes on]")
            break
    return "\n".join(kept).strip()
