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
_OFFSET_SIGNATURES = ((8, b"WEBP", "WebP"), (8, b"WAVE", "WAV"), (4, b"ftyp", "MP4"), (257, b"ustar", "tar"))
# Bytes that are not UTF-8, and control characters that terminals do not use. A single NUL separates names (-print0).
_BAD_CHARACTERS = re.compile("[\udc80-\udcff\x01-\x06\x0e-\x1a\x1c-\x1f]|\0(?=\0)|(?<=\0)\0")
_PLAIN_BYTES = bytes(byte for byte in range(128) if byte in b"\a\b\t\n\v\f\r\x1b" or byte >= 32)
_MIN_BAD_SHARE = 0.3  # of the characters; below that it is text in another encoding, or a damaged line
_MIN_BAD = 8  # characters
_HEADER_LINES, _HEADER_WIDTH = 8, 300  # lines, and characters of each, that are searched for a signature
_MIN_LINE = 5  # characters; a shorter line after binary data is counted as binary


@dataclass(frozen=True, kw_only=True)
class BinaryParts:
    """Output split around binary data: the text before it, the data, and the text after it."""

    before: bytes
    binary: bytes = b""
    after: bytes = b""

    @property
    def data_format(self) -> str:
        return detect_format(self.binary)


def summary_line(size: int, kind: str) -> str:
    """Return the line that replaces `size` bytes of binary data."""
    return f"[binary output, {size:,} bytes{_looks_like(kind)}; redirect it to a file]"


def start_line(kind: str) -> str:
    """Return the line that announces binary data whose size is not known yet."""
    return f"[binary output{_looks_like(kind)}; redirect it to a file]"


def end_line(size: int) -> str:
    """Return the line that follows `start_line` once the size is known."""
    return f"[these were {size:,} bytes of binary output]"


def _looks_like(kind: str) -> str:
    return f", looks like {kind}" if kind else ""


def detect_format(data: bytes) -> str:
    """Return the format of data by its first bytes, or '' if it is unknown."""
    for offset, signature, kind in _OFFSET_SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return kind
    return next((kind for signature, kind in _SIGNATURES.items() if data.startswith(signature)), "")


def split_binary(data: bytes) -> BinaryParts:
    """Split `data` around its binary part. For plain text, all of it is `before`."""
    if not data.translate(None, delete=_PLAIN_BYTES):  # shortcut for plain ASCII, ten times as fast
        return BinaryParts(before=data)
    text = data.decode(errors="surrogateescape")
    if (first_bad := _BAD_CHARACTERS.search(text)) is None:
        return BinaryParts(before=data)
    begin = _start_of_binary(text, text.rfind("\n", 0, first_bad.start()) + 1)
    end = len(text) - text[::-1].find(_BAD_CHARACTERS.findall(text)[-1])
    line_end = text.find("\n", end) + 1 or len(text)
    if line_end - end < _MIN_LINE or text[line_end - 1] != "\n":
        end = line_end
    middle, binary = text[begin:end], _encoded(text[begin:end])
    has_few_bad = len(_BAD_CHARACTERS.findall(middle)) < max(_MIN_BAD_SHARE * len(middle), _MIN_BAD)
    if has_few_bad and not detect_format(binary):
        return BinaryParts(before=data)
    return BinaryParts(before=_encoded(text[:begin]), binary=binary, after=_encoded(text[end:]))


def _start_of_binary(text: str, line: int) -> int:
    """Return the start of the binary data whose first bad character is in the line at offset `line`.

    The data may start in an earlier line, because some formats begin as text.
    """
    begin = line
    for _ in range(_HEADER_LINES):
        if detect_format(_encoded(text[begin : begin + _HEADER_WIDTH])):
            return begin
        if not begin:
            break
        begin = text.rfind("\n", 0, begin - 1) + 1
    return line


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
