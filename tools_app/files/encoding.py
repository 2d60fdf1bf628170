"""Detection of the encoding of text files, and of picture types by their first bytes."""

import codecs
import re
from dataclasses import dataclass
from typing import BinaryIO

from tools_app.errors import ToolError

SAMPLE = 1024**2  # bytes that are examined
_HEAD = 8192  # bytes used to tell text from binary
_BOMS = {  # UTF-32 first, because its little-endian mark starts with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
_NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # never in text with one byte a character
_MAX_FLAWS = 0.25  # of the characters beyond ASCII; a wrong encoding spoils nearly all of them, damage only some
_MAX_NON_ASCII = 0.3  # of all bytes; no language in Latin letters has more bytes beyond ASCII
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A Python codec, and the byte order mark at the start of the file."""

    codec: str
    bom: bytes = b""

    def __str__(self) -> str:
        return _NAMES.get(self.codec) or self.codec.upper()[:6]

    @property
    def errors(self) -> str:
        return "surrogateescape" if self.codec == "utf-8" else "strict"

    def decode(self, data: bytes) -> str:
        """Return the text of an entire file, which `encode` turns into the same bytes again.

        Raises: ToolError if the file is not valid in this encoding.
        """
        try:
            return data.removeprefix(self.bom).decode(self.codec, self.errors)
        except UnicodeDecodeError as error:
            raise ToolError(f"It is not valid {self}. Convert it to UTF-8 with the shell first.") from error

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text, without the byte order mark.

        Raises: ToolError if the encoding lacks a character.
        """
        try:
            return text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            fault = f"The file is {self}, which has no {text[error.start]!r}."
            raise ToolError(f"{fault} Write without it, or convert the file to UTF-8 with the shell first.") from error

    def readable(self, data: bytes) -> str:
        """Decode with replacement characters. They also replace NUL, which databases refuse."""
        return data.removeprefix(self.bom).decode(self.codec, "replace").replace("\0", _REPLACEMENT)


UTF_8 = Encoding(codec="utf-8")


def detect_encoding(data: bytes) -> Encoding | None:
    """Detect the encoding from the first SAMPLE bytes. Return None if they are probably not text."""
    sample = data[:SAMPLE]
    for bom, codec in _BOMS.items():
        if sample.startswith(bom):
            return Encoding(codec=codec, bom=bom)
    if b"\0" in sample[:_HEAD]:
        return _utf_16(sample[:_HEAD])
    if _is_utf_8(sample):
        return UTF_8
    beyond = len(sample) - len(sample.decode("ascii", "ignore"))
    if beyond <= _MAX_NON_ASCII * len(sample) and not _CONTROL.search(sample):
        return Encoding(codec=_single_byte(sample))
    flaws = sample[:_HEAD].decode(errors="replace").count(_REPLACEMENT)
    return UTF_8 if flaws <= len(sample[:_HEAD]) / 10 else None


def _is_utf_8(sample: bytes) -> bool:
    """Return whether this is UTF-8. The end may be incomplete, and some characters may be damaged."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        text = sample.decode(errors="replace")
        beyond = len(text) - len(text.encode("ascii", "ignore"))
        return text.count(_REPLACEMENT) <= _MAX_FLAWS * beyond
    return True


def _single_byte(sample: bytes) -> str:
    """Return Windows-1252 if its letters (0x80 to 0x9f without five undefined bytes) occur, otherwise Latin-1."""
    try:
        return "cp1252" if sample.decode("cp1252") != sample.decode("latin-1") else "latin-1"
    except UnicodeDecodeError:
        return "latin-1"


def _utf_16(head: bytes) -> Encoding | None:
    """Detect UTF-16 without a mark: in text with Latin letters, every second byte is NUL."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    for codec, nuls, other_nuls in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        encoding = Encoding(codec=codec)
        text = encoding.readable(head[: len(head) // 2 * 2])
        likely = nuls > len(head) / 4 and other_nuls < nuls / 20
        if likely and text and _REPLACEMENT not in text and not _CONTROL.search(text.encode()):
            return encoding
    return None


def read_sample(file: BinaryIO) -> bytes:
    """Return the bytes that `detect_encoding` examines, and rewind the file."""
    sample = file.read(SAMPLE)
    file.seek(0)
    return sample


_PICTURE_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def picture_type(file: BinaryIO) -> str:
    """Return the media type of a PNG, JPEG, GIF or WebP, otherwise ''. Rewind the file."""
    head = file.read(12)
    file.seek(0)
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _PICTURE_SIGNATURES.items() if head.startswith(beginning)), "")
