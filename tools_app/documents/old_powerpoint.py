"""The reader of PowerPoint presentations of 1997–2003 ([MS-PPT]): the texts of each slide, then the notes."""

import struct
from collections.abc import Iterator, Sequence

from tools_app.documents.compound import ENCRYPTED, opened
from tools_app.documents.document import DocumentParseError, ParsedDocument, pages_of

_TEXT_ATOMS = {0x0FA0: "utf-16-le", 0x0FA8: "latin-1", 0x0FBA: "utf-16-le"}  # 2.13.24
_SLIDE_LIST, _SLIDE_ATOM, _SLIDE, _NOTES, _MASTER = 0x0FF0, 0x03F3, 0x03EE, 0x03F0, 0x03F8
_MAX_DEPTH = 20  # of records


def open_document(body: bytes) -> ParsedDocument:
    """Open a presentation.

    Raises: DocumentParseError.
    """
    file = opened(body)
    if file.exists("EncryptedSummary"):
        raise DocumentParseError(ENCRYPTED)
    slides: list[list[str]] = []
    boxes: list[list[str]] = []
    notes: list[str] = []
    for kind, text, parents in _records(file.openstream("PowerPoint Document").read()):
        if kind == _SLIDE_ATOM and _SLIDE_LIST in parents:
            slides.append([])
        elif kind == _SLIDE:
            boxes.append([])
        elif not text or _MASTER in parents:
            continue
        elif _SLIDE_LIST in parents and slides:
            slides[-1].append(text)
        elif _SLIDE in parents and boxes:
            boxes[-1].append(text)
        elif _NOTES in parents:
            notes.append(f"Notes: {text}")
    count = max(len(slides), len(boxes), 1)
    lines = [
        [text for texts in (slides, boxes) if index < len(texts) for text in texts[index]] for index in range(count)
    ]
    lines[-1] += notes
    return ParsedDocument(kind="PowerPoint presentation", unit="slide", parts=pages_of(lines, "slide"))


def _records(data: bytes, parents: Sequence[int] = ()) -> Iterator[tuple[int, str, Sequence[int]]]:
    """Yield the kind of each record, its text, and the kinds of the records around it."""
    position = 0
    while position + 8 <= len(data):
        version, kind, size = struct.unpack_from("<HHI", data, position)
        content = data[position + 8 : position + 8 + size]
        position += 8 + size
        text = content.decode(_TEXT_ATOMS[kind], "replace") if kind in _TEXT_ATOMS else ""
        yield kind, text.replace("\r", "\n").replace("\x0b", "\n"), parents
        if version & 0x0F == 0x0F and len(parents) < _MAX_DEPTH:
            yield from _records(content, (*parents, kind))
