"""Detection of the encoding of text, and of picture types by their first bytes.

Pages, e-mails, text files and tables are all decoded here: by a mark, as UTF-8, as declared, or by a guess.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from tools_app.errors import ToolError
from tools_app.files.charset_guess import guess, guess_utf_16, is_iso_2022_jp
from tools_app.files.charsets import charset_name, codec_of, declared_codec

SAMPLE = 1024**2  # bytes that are examined
_HEAD = 8192  # bytes used to tell text from binary
_BOMS = {  # UTF-32 first, because its little-endian mark starts with that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
    codecs.BOM_UTF8: "utf-8",
}
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # never in text with one byte a character
_MAX_FLAWS = 0.25  # of the characters beyond ASCII; a wrong encoding spoils nearly all of them, damage only some
_MAX_NON_ASCII = 0.3  # of all bytes; no language in Latin letters has more bytes beyond ASCII
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A Python codec, and the byte order mark at the start of the file. `is_guess` means that nothing declares it."""

    codec: str
    bom: bytes = b""
    is_guess: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return charset_name(self.codec)

    @property
    def label(self) -> str:
        """The name that browsers know."""
        return "windows-1252" if self.codec == "latin-1" else str(self)

    @property
    def errors(self) -> str:
        return "surrogateescape" if self.codec == "utf-8" else "strict"

    def decode(self, data: bytes) -> str:
        """Return the text of an entire file, which `encode` turns into the same bytes again.

        Raises: ToolError if the file is not valid in this encoding.
        """
        body = data.removeprefix(self.bom)
        try:
            text = body.decode(self.codec, self.errors)
            is_kept = self.codec == "utf-8" or text.encode(self.codec) == body
        except UnicodeError as error:
            raise ToolError(f"It is not valid {self}. Convert it to UTF-8 with the shell first.") from error
        if not is_kept:  # two sequences of bytes can mean one character
            raise ToolError(f"As {self}, it would change elsewhere too. Convert it to UTF-8 with the shell first.")
        return text

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
        return Encoding(codec=codec, is_guess=True) if (codec := guess_utf_16(sample[:_HEAD])) else None
    if sample.isascii():
        return Encoding(codec="iso2022_jp", is_guess=True) if is_iso_2022_jp(sample) else UTF_8
    if _is_utf_8(sample):
        return UTF_8
    if (codec := declared_codec(sample)) and _is_readable(sample, codec):
        return Encoding(codec=codec)
    if _CONTROL.search(sample):
        flaws = sample[:_HEAD].decode(errors="replace").count(_REPLACEMENT)
        return UTF_8 if flaws <= len(sample[:_HEAD]) / 10 else None
    beyond = len(sample) - len(sample.decode("ascii", "ignore"))
    codec = guess(sample)
    if not codec and beyond > _MAX_NON_ASCII * len(sample):
        return None
    return Encoding(codec=_single_byte(sample) if codec in ("", "cp1252") else codec, is_guess=True)


def decode_text(body: bytes, declared: str = "", *, truncated: bool = False) -> str:
    """Decode a body without ever failing.

    `declared` is the charset that a header names. `truncated` allows an incomplete character at the end.
    """
    candidates = list(_candidates(body, declared))
    for flaws_allowed in (0, _MAX_FLAWS):
        for codec in candidates:
            text = body.decode(codec, errors="replace")
            text = text.rstrip(_REPLACEMENT) if truncated else text
            non_ascii_count = len(text) - len(text.encode("ascii", errors="ignore"))
            if text.count(_REPLACEMENT) <= flaws_allowed * non_ascii_count:
                return text
    encoding = detect_encoding(body)
    return body.decode(encoding.codec if encoding else "cp1252", errors="replace")


def _candidates(body: bytes, declared: str) -> Iterator[str]:
    """Yield possible codecs. Valid UTF-8 is UTF-8 whatever the header says, unless all bytes are ASCII."""
    for bom, codec in _BOMS.items():
        if body.startswith(bom):
            yield "utf-8-sig" if codec == "utf-8" else codec.removesuffix("-le").removesuffix("-be")
    if not body.isascii():
        yield "utf-8"
    yield from filter(None, (codec_of(declared), declared_codec(body)))


def _is_readable(sample: bytes, codec: str) -> bool:
    """Return whether a declared codec fits, up to a few damaged characters."""
    text = sample.decode(codec, "replace")
    return text.count(_REPLACEMENT) <= _MAX_FLAWS * (len(text) - len(text.encode("ascii", "ignore")))


def _is_utf_8(sample: bytes) -> bool:
    """Return whether this is UTF-8. Some characters may be damaged, and the end of a cut sample incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, final=len(sample) < SAMPLE)
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


_OTHER_PICTURES = {  # formats that are converted before a model sees them
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
    b"\0\0\1\0": "image/x-icon",
    b"\0\0\0\x0cjP  ": "image/jp2",
}
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)  # bytes


def picture_type(file: BinaryIO) -> str:
    """Return the media type of a PNG, JPEG, GIF or WebP, otherwise ''. Rewind the file."""
    head = file.read(12)
    file.seek(0)
    if head[:4] == b"RIFF" and head[8:] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _PICTURE_SIGNATURES.items() if head.startswith(beginning)), "")


def convertible_type(file: BinaryIO) -> str:
    """Return the media type of a picture that a model can see, also after a conversion, or ''. Rewind the file."""
    if kind := picture_type(file):
        return kind
    head = file.read(18)
    file.seek(0)
    if head[:2] == b"BM" and head[6:10] == bytes(4) and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "image/bmp"
    if head[4:12] in (b"ftypavif", b"ftypavis"):
        return "image/avif"
    return next((kind for beginning, kind in _OTHER_PICTURES.items() if head.startswith(beginning)), "")
