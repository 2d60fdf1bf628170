"""Files of Outlook within e-mails, "winmail.dat" ([MS-OXTNEF]): the text, and the attached files."""

from collections.abc import Iterator

from tools_app.files.encoding import decode_text

_SIGNATURE = bytes.fromhex("789f3e22")
_HEAD_BYTES = 6  # the signature and a key
_BODY = 0x0002800C
_TITLE, _DATA = 0x00018010, 0x0006800F  # of an attachment


def has_signature(data: bytes) -> bool:
    return data.startswith(_SIGNATURE)


def texts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the title and the bytes of the message's text, if it has one."""
    yield from (("text", value.rstrip(b"\0")) for tag, value in _attributes(data) if tag == _BODY)


def attachments(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of the attached files. A name precedes or follows its content."""
    name, content = "", None
    for tag, value in _attributes(data):
        if tag == _TITLE:
            name = decode_text(value.rstrip(b"\0"))
        elif tag == _DATA:
            content = value
        if name and content is not None:
            yield name, content
            name, content = "", None


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each attribute's tag and value: a level, a tag, a length, the value and a checksum."""
    position = _HEAD_BYTES
    while position + 9 <= len(data):
        tag = int.from_bytes(data[position + 1 : position + 5], "little")
        size = int.from_bytes(data[position + 5 : position + 9], "little")
        yield tag, data[position + 9 : position + 9 + size]
        position += 9 + size + 2
