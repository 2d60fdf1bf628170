"""The reader of Word documents of 1997–2003 ([MS-DOC]): the main text, notes, headers, comments and text boxes."""

import re
import struct
from collections.abc import Iterator
from itertools import pairwise

from tools_app.documents.compound import ENCRYPTED, opened
from tools_app.documents.document import DocumentParseError, ParsedDocument, pages_of

_FIELD = re.compile(r"\x13([^\x13-\x15]*+)(?:\x14([^\x13-\x15]*+))?\x15")  # a field's code, and its result
_LINK = re.compile(r'\s*+HYPERLINK\s++"([^"]*+)"')


def open_document(body: bytes) -> ParsedDocument:
    """Open a document.

    Raises: DocumentParseError.
    """
    file = opened(body)
    head = file.openstream("WordDocument").read()
    if head[0x0B] & 0x01:
        raise DocumentParseError(ENCRYPTED)
    table = file.openstream("1Table" if head[0x0B] & 0x02 else "0Table").read()
    start, size = struct.unpack_from("<II", head, 0x01A2)
    text = "".join(_pieces(head, table[start : start + size]))
    return ParsedDocument(kind="Word document", unit="page", parts=pages_of([_word_lines(text)], "page"))


def _pieces(document: bytes, pieces: bytes) -> Iterator[str]:
    """Yield the pieces of text that the piece table names ([MS-DOC] 2.4.1)."""
    position = 0
    while pieces[position : position + 1] == b"\x01":  # properties
        position += 3 + int.from_bytes(pieces[position + 1 : position + 3], "little")
    size = int.from_bytes(pieces[position + 1 : position + 5], "little")
    table = pieces[position + 5 : position + 5 + size]
    count = (size - 4) // 12
    ends = struct.unpack_from(f"<{count + 1}I", table)
    for index, (first, last) in enumerate(pairwise(ends)):
        (address,) = struct.unpack_from("<I", table, 4 * (count + 1) + 8 * index + 2)
        if address & 0x40000000:  # one byte a character
            begin = (address & 0x3FFFFFFF) // 2
            yield document[begin : begin + last - first].decode("cp1252", "replace")
        else:
            yield document[address : address + 2 * (last - first)].decode("utf-16-le", "replace")


def _word_lines(text: str) -> Iterator[str]:
    """Yield paragraphs and rows of tables. \\x07 ends a cell, and again a row."""
    while (
        "\x13" in text and (replaced := _FIELD.sub(lambda match: _field_text(match[1], match[2] or ""), text)) != text
    ):
        text = replaced
    text = text.translate({0x0B: "\n", 0x0C: "\n", 0x1E: "-", 0x1F: None, 0x01: None, 0x08: None})
    for paragraph in text.split("\r"):
        rows = paragraph.split("\x07\x07")
        yield from (" | ".join(line.split("\x07")) for line in rows[:-1])
        yield rows[-1].replace("\x07", " ")


def _field_text(code: str, result: str) -> str:
    link = _LINK.match(code)
    return f"[{result}]({link[1]})" if link and link[1] != result else result
