"""Detection of binary data in the output of a program, so that it is named instead of printed."""

import re
from dataclasses import dataclass

_SIGNATURES = {
    b"\x89PNG\r\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF8": "GIF",
    b"%PDF-": "PDF",
    b"PK\x03\x04": "ZIP (also Office files)",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"7z\xbc\xaf": "7-Zip",
    b"\x7fELF": "an ELF program",
    b"SQLite format 3\0": "an SQLite database",
    b"OggS": "Ogg",
    b"ID3": "MP3",
    b"fLaC": "FLAC",
    b"\0asm": "WebAssembly",
    b"PAR1": "Parquet",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_LONGER = ((8, b"WEBP", "WebP"), (8, b"WAVE", "WAV"), (4, b"ftyp", "MP4"), (257, b"ustar", "tar"))
# Bytes that are not UTF-8, and control characters that terminals do not use. A single NUL separates names (-print0).
_BAD = re.compile("[\udc80-\udcff\x01-\x06\x0e-\x1a\x1c-\x1f]|\0(?=\0)|(?<=\0)\0")
_PLAIN = bytes(byte for byte in range(128) if byte in b"\a\b\t\n\v\f\r\x1b" or byte >= 32)
_SHARE = 0.3  # of the characters; below that it is text in another encoding, or a damaged line
_FEWEST_BAD = 8  # characters
_LINES_OF_HEADER, _HEADER = 8, 300  # lines, and characters of each, that are searched for a signature
_FEWEST = 5  # characters; a shorter line after binary data is counted as binary


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Output split around binary data: the text before it, the data, and the text after it."""

    before: bytes
    binary: bytes = b""
    after: bytes = b""

    @property
    def kind(self) -> str:
        return kind_of(self.binary)


def named(size: int, kind: str) -> str:
    """Return the line that replaces `size` bytes of binary data."""
    return f"[binary output, {size:,} bytes{_looks_like(kind)}; redirect it to a file]"


def begun(kind: str) -> str:
    """Return the line that announces binary data whose size is not known yet."""
    return f"[binary output{_looks_like(kind)}; redirect it to a file]"


def ended(size: int) -> str:
    """Return the line that follows `begun` once the size is known."""
    return f"[these were {size:,} bytes of binary output]"


def _looks_like(kind: str) -> str:
    return f", looks like {kind}" if kind else ""


def kind_of(data: bytes) -> str:
    """Return the format of data by its first bytes, or '' if it is unknown."""
    for place, words, kind in _LONGER:
        if data[place : place + len(words)] == words:
            return kind
    return next((kind for signature, kind in _SIGNATURES.items() if data.startswith(signature)), "")


def parts_of(data: bytes) -> Parts:
    """Split `data` around its binary part. For plain text, all of it is `before`."""
    if not data.translate(None, delete=_PLAIN):  # shortcut for plain ASCII, ten times as fast
        return Parts(before=data)
    text = data.decode(errors="surrogateescape")
    if (first := _BAD.search(text)) is None:
        return Parts(before=data)
    begin = _begin(text, text.rfind("\n", 0, first.start()) + 1)
    end = len(text) - text[::-1].find(_BAD.findall(text)[-1])
    line_end = text.find("\n", end) + 1 or len(text)
    if not _is_line(text[end:line_end]):
        end = line_end
    middle = text[begin:end]
    if len(_BAD.findall(middle)) < max(_SHARE * len(middle), _FEWEST_BAD) and not kind_of(_bytes(middle)):
        return Parts(before=data)
    return Parts(before=_bytes(text[:begin]), binary=_bytes(middle), after=_bytes(text[end:]))


def _begin(text: str, line: int) -> int:
    """Return the start of the binary data whose first bad character is in the line at offset `line`.

    The data may start in an earlier line, because some formats begin as text.
    """
    begin = line
    for _ in range(_LINES_OF_HEADER):
        if kind_of(_bytes(text[begin : begin + _HEADER])):
            return begin
        if not begin:
            break
        begin = text.rfind("\n", 0, begin - 1) + 1
    return line


def _is_line(text: str) -> bool:
    return len(text) >= _FEWEST and text.endswith("\n")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
