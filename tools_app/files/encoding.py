"""The encoding of text files, and the kind of pictures by their first bytes."""

import codecs
import re
from dataclasses import dataclass
from typing import BinaryIO

from tools_app.errors import ToolError

SAMPLE = 1024**2  # bytes that are looked at
_HEAD = 8192  # bytes that tell text from binary
_BOMS = {  # UTF-32 first: its little-endian mark begins with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
_NAMES = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1"}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # no text of one byte a character has these
_FEW = 0.25  # of the characters beyond ASCII: another encoding spoils nearly all of them, a damaged file some
_MANY = 0.3  # of all bytes beyond ASCII: no language in Latin letters has as many
_FLAW = "\ufffd"


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A codec of Python, and the byte order mark that the file begins with."""

    codec: str
    bom: bytes = b""

    def __str__(self) -> str:
        return _NAMES.get(self.codec) or self.codec.upper()[:6]

    @property
    def errors(self) -> str:
        return "surrogateescape" if self.codec == "utf-8" else "strict"

    def decode(self, data: bytes) -> str:
        """The text of a whole file; `encode` gives the same bytes again. Raises ToolError if it could not."""
        try:
            return data.removeprefix(self.bom).decode(self.codec, self.errors)
        except UnicodeDecodeError as error:
            raise ToolError(f"It is not valid {self}. Convert it to UTF-8 with the shell first.") from error

    def encode(self, text: str) -> bytes:
        """Without the mark. Raises ToolError for a character that the encoding does not have."""
        try:
            return text.encode(self.codec, self.errors)
        except UnicodeEncodeError as error:
            fault = f"The file is {self}, which has no {text[error.start]!r}."
            raise ToolError(f"{fault} Write without it, or convert the file to UTF-8 with the shell first.") from error

    def readable(self, data: bytes) -> str:
        """As text, whatever it is; NUL, which databases refuse, becomes a replacement character, too."""
        return data.removeprefix(self.bom).decode(self.codec, "replace").replace("\0", _FLAW)


UTF_8 = Encoding(codec="utf-8")


def encoding_of(data: bytes) -> Encoding | None:
    """Judged by the first SAMPLE bytes; None for what is no text, as far as can be told."""
    sample = data[:SAMPLE]
    for bom, codec in _BOMS.items():
        if sample.startswith(bom):
            return Encoding(codec=codec, bom=bom)
    if b"\0" in sample[:_HEAD]:
        return _utf_16(sample[:_HEAD])
    if _is_utf_8(sample):
        return UTF_8
    beyond = len(sample) - len(sample.decode("ascii", "ignore"))
    if beyond <= _MANY * len(sample) and not _CONTROL.search(sample):
        return Encoding(codec=_single_byte(sample))
    flaws = sample[:_HEAD].decode(errors="replace").count(_FLAW)
    return UTF_8 if flaws <= len(sample[:_HEAD]) / 10 else None


def _is_utf_8(sample: bytes) -> bool:
    """Also if the sample ends within a character, or if some characters are damaged."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        text = sample.decode(errors="replace")
        beyond = len(text) - len(text.encode("ascii", "ignore"))
        return text.count(_FLAW) <= _FEW * beyond
    return True


def _single_byte(sample: bytes) -> str:
    """Windows-1252 where its letters are (0x80 to 0x9f; five of them it does not have), otherwise Latin-1."""
    try:
        return "cp1252" if sample.decode("cp1252") != sample.decode("latin-1") else "latin-1"
    except UnicodeDecodeError:
        return "latin-1"


def _utf_16(head: bytes) -> Encoding | None:
    """Without a mark: of text in Latin letters, every second byte is a NUL."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    for codec, nuls, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        encoding = Encoding(codec=codec)
        text = encoding.readable(head[: len(head) // 2 * 2])
        likely = nuls > len(head) / 4 and others < nuls / 20
        if likely and text and _FLAW not in text and not _CONTROL.search(text.encode()):
            return encoding
    return None


def sample_of(file: BinaryIO) -> bytes:
    """What `encoding_of` looks at. The file is rewound."""
    sample = file.read(SAMPLE)
    file.seek(0)
    return sample


_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def picture_type(file: BinaryIO) -> str:
    """The media type of a PNG, JPEG, GIF or WebP; empty for anything else. The file is rewound."""
    head = file.read(12)
    file.seek(0)
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS.items() if head.startswith(beginning)), "")
