"""The reader of Outlook messages (.msg, [MS-OXMSG]): headers and text, then each attachment."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from lxml import etree

from tools_app.documents import html, rich_text
from tools_app.documents.attached_file import MOST, parts_of, titled
from tools_app.documents.compound import opened
from tools_app.documents.document import ParsedDocument, ParsedPart
from tools_app.files.encoding import decode_text

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_SENDER, _ADDRESSES = "0C1A", ("5D01", "0C1F")
_TO, _CC = "0E04", "0E03"
_NAMES, _DATA, _MESSAGE = ("3707", "3704", "3001"), "3701", "3701000D"
_SENT = (0x00390040, 0x0E060040)  # properties with a time
_PROPERTIES = "__properties_version1.0"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_MAX_DEPTH = 3  # messages within messages
_FIXED_HEADS = (32, 24)  # bytes before the properties of a message, and of one within a message


def open_document(body: bytes) -> ParsedDocument:
    """Open a message.

    Raises: DocumentParseError.
    """
    file = opened(body)
    return ParsedDocument(kind="e-mail", unit="part", title=_text(file, "", _SUBJECT), parts=_parts(file, "", 0))


def _parts(file: Any, folder: str, depth: int) -> list[ParsedPart]:
    parts = [ParsedPart(title="message", lines=list(_lines(file, folder)))]
    for attachment in _attachments(file, folder)[:MOST]:
        name = next(filter(None, (_text(file, attachment, number) for number in _NAMES)), "file")
        inner = f"{attachment}__substg1.0_{_MESSAGE}/"
        if file.exists(f"{inner}{_PROPERTIES}"):
            inner_parts: Sequence[ParsedPart] = _parts(file, inner, depth + 1) if depth < _MAX_DEPTH else []
        else:
            inner_parts = parts_of(_bytes(file, attachment, _DATA), name)
        parts += titled(f"attachment {name}", inner_parts)
    return parts


def _attachments(file: Any, folder: str) -> list[str]:
    """Return the folders of the attachments."""
    depth = folder.count("/")
    names = {tuple(path[: depth + 1]) for path in file.listdir() if len(path) > depth + 1}
    paths = ("/".join(path) + "/" for path in names if path[-1].startswith("__attach"))
    return sorted(path for path in paths if path.startswith(folder))


def _lines(file: Any, folder: str) -> Iterator[str]:
    address = next(filter(None, (_text(file, folder, number) for number in _ADDRESSES)), "")
    sender = _text(file, folder, _SENDER)
    headers = {
        "From": f"{sender} <{address}>" if sender and address else sender or address,
        "To": _text(file, folder, _TO),
        "Cc": _text(file, folder, _CC),
        "Date": _date(file, folder),
        "Subject": _text(file, folder, _SUBJECT),
    }
    yield from (f"{name}: {value}" for name, value in headers.items() if value)
    yield ""
    yield _body(file, folder) or "[It has no text.]"


def _body(file: Any, folder: str) -> str:
    """Return the plain text, or that of the HTML or the rich text."""
    if text := _text(file, folder, _BODY).strip("\0"):
        return text
    if page := _bytes(file, folder, _HTML) or _text(file, folder, _HTML).encode():
        try:
            return html.outline(html.parsed(decode_text(page))[1])
        except etree.ParserError:
            return ""
    compressed = _bytes(file, folder, _RTF)
    return rich_text.text(rich_text.decompressed(compressed)) if compressed else ""


def _text(file: Any, folder: str, number: str) -> str:
    """Return a property that is a text: UTF-16, or in a charset that is guessed."""
    if file.exists(path := f"{folder}__substg1.0_{number}001F"):
        return str(file.openstream(path).read().decode("utf-16-le", "replace")).rstrip("\0")
    if file.exists(path := f"{folder}__substg1.0_{number}001E"):
        return decode_text(file.openstream(path).read().rstrip(b"\0"))
    return ""


def _bytes(file: Any, folder: str, number: str) -> bytes:
    path = f"{folder}__substg1.0_{number}0102"
    return bytes(file.openstream(path).read()) if file.exists(path) else b""


def _date(file: Any, folder: str) -> str:
    """Return the time at which the message was sent, from the properties of a fixed size."""
    data = file.openstream(f"{folder}{_PROPERTIES}").read()
    for position in range(_FIXED_HEADS[bool(folder)], len(data) - 15, 16):
        if int.from_bytes(data[position : position + 4], "little") in _SENT:
            ticks = int.from_bytes(data[position + 8 : position + 16], "little")  # of 100 ns
            return (_EPOCH + timedelta(microseconds=ticks // 10)).strftime("%Y-%m-%d %H:%M UTC")
    return ""
