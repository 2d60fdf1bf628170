"""The reader of rich text (RTF 1.9.1), also in the compressed form of Outlook messages ([MS-OXRTFCP])."""

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tools_app.documents.document import ParsedDocument, pages_of

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z'])"
    rb"|(?P<brace>[{}])|(?P<plain>[^\\{}\r\n]+)",
    re.DOTALL,
)
_HIDDEN = (  # destinations that are no text
    *("fonttbl", "colortbl", "stylesheet", "listtable", "listoverridetable", "rsidtbl", "generator", "info", "pict"),
    *("object", "objdata", "themedata", "colorschememapping", "latentstyles", "datastore", "xmlnstbl", "filetbl"),
    *("revtbl", "nonshppict", "bkmkstart", "bkmkend", "pntext", "listtext", "mmathPr", "panose", "falt", "shpinst"),
    *("wgrffmtfilter", "formfield"),
)
_SHOWN = ("shptxt", "shppict", "pnseclvl")
_CHARACTERS = {
    "par": "\n", "line": "\n", "sect": "\n", "page": "\n", "row": "\n", "cell": "\x07", "nestcell": "\x07", "tab": "\t",
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
    "emspace": " ", "enspace": " ", "~": "\xa0", "_": "-", "\n": "\n", "\r": "\n", "\\": "\\", "{": "{", "}": "}",
}  # fmt: skip
_LABELS = {"header": "Header: ", "headerf": "Header: ", "headerl": "Header: ", "headerr": "Header: ",
           "footer": "Footer: ", "footerf": "Footer: ", "footerl": "Footer: ", "footerr": "Footer: "}  # fmt: skip
_CHARSETS = {128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5hkscs", 161: "cp1253", 162: "cp1254", 163: "cp1258",
             177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250"}  # fmt: skip
_FONT = re.compile(rb"\\f(\d{1,6})[^{}\\]{0,20}(?:\\(?!fcharset)[a-z]{1,20}-?\d{0,6} ?){0,8}\\fcharset(\d{1,3})")
_LINK = re.compile(r'HYPERLINK\s++(?:\\l\s++)?"([^"]*+)"')
_START = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The state within a pair of braces: the codec, the bytes that stand for a `\\u`, and the destination."""

    codec: str
    substitutes: int = 1
    is_hidden: bool = False
    is_code: bool = False
    suffix: str = ""


def open_document(body: bytes) -> ParsedDocument:
    return ParsedDocument(kind="rich text", unit="page", parts=pages_of([_lines(text(body))], "page"))


def text(body: bytes) -> str:
    """Return the text, with \\x07 after each cell of a table. Headers, footers and notes have lines of their own."""
    return _RichText(body).read()


def _lines(words: str) -> Iterator[str]:
    for line in words.split("\n"):
        yield " | ".join(line.rstrip("\x07").split("\x07")) if "\x07" in line else line


class _RichText:
    """A walk over the tokens."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        page = re.search(rb"\\ansicpg(\d{1,5})", body[:1000])
        self._default = _codec(f"cp{int(page[1])}") if page else "cp1252"
        self._fonts: Mapping[int, str] = {
            int(match[1]): _CHARSETS.get(int(match[2]), self._default) for match in _FONT.finditer(body[:100_000])
        }
        self._out: list[str] = []
        self._pending = b""
        self._code = ""

    def read(self) -> str:
        group, stack, skip, after_star = _Group(codec=self._default), list[_Group](), 0, False
        for token in _TOKEN.finditer(self._body):
            if token["brace"] == b"{":
                stack.append(group)
                group = replace(group, suffix="")
                continue
            if token["brace"] == b"}":
                self._flush(group)
                self._out.append(group.suffix)
                group = stack.pop() if stack else group
                continue
            if token["hex"] or token["plain"]:
                data = bytes([int(token["hex"], 16)]) if token["hex"] else token["plain"]
                dropped = min(skip, len(data))
                skip -= dropped
                self._add(group, data[dropped:])
                continue
            word = (token["word"] or token["symbol"]).decode("latin-1")
            number = int(token["number"]) if token["number"] else None
            if word == "u" and number is not None:
                self._flush(group)
                self._write(group, chr(number % 0x10000))
                skip = group.substitutes
                continue
            skip = 0
            if word == "*":
                after_star = True
                continue
            group = self._control(group, word, number, after_star=after_star)
            after_star = False
        self._flush(group)
        return "".join(self._out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _control(self, group: _Group, word: str, number: int | None, *, after_star: bool) -> _Group:
        self._flush(group)
        if word == "fldinst":
            self._code = ""
            return replace(group, is_code=True)
        if word in _HIDDEN or (after_star and word not in _SHOWN):
            return replace(group, is_hidden=True)
        if word == "htmlrtf":
            return replace(group, is_hidden=number != 0)
        if word == "v":
            return replace(group, is_hidden=number != 0)
        if word == "fldrslt" and (link := _LINK.search(self._code)):
            self._write(group, "[")
            return replace(group, suffix=f"]({link[1]})")
        if word == "footnote":
            self._write(group, " [Note: ")
            return replace(group, suffix="]")
        if word in _LABELS:
            self._write(group, "\n" + _LABELS[word])
            return replace(group, suffix="\n")
        if word == "uc" and number is not None:
            return replace(group, substitutes=min(max(number, 0), 100))
        if word in ("f", "af") and number is not None:
            return replace(group, codec=self._fonts.get(number, self._default)) if word == "f" else group
        if word in _CHARACTERS:
            self._write(group, _CHARACTERS[word])
        return group

    def _add(self, group: _Group, data: bytes) -> None:
        if not group.is_hidden or group.is_code:
            self._pending += data

    def _flush(self, group: _Group) -> None:
        if self._pending:
            self._write(group, self._pending.decode(group.codec, "replace"))
            self._pending = b""

    def _write(self, group: _Group, words: str) -> None:
        if group.is_code:
            self._code += words
        elif not group.is_hidden:
            self._out.append(words)


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def decompressed(data: bytes) -> bytes:
    """Return the rich text of a message, which is compressed with a dictionary of 4,096 bytes ([MS-OXRTFCP] 2.2)."""
    raw_size = int.from_bytes(data[4:8], "little")
    if data[8:12] == b"MELA":
        return data[16 : 16 + raw_size]
    window = bytearray(_START.ljust(4096, b" "))
    write, position, out = len(_START), 16, bytearray()
    while position < len(data) and len(out) < raw_size:
        flags = data[position]
        position += 1
        for bit in range(8):
            if flags >> bit & 1:
                token = int.from_bytes(data[position : position + 2], "big")
                position += 2
                offset, length = token >> 4, (token & 0x0F) + 2
                if offset == write % 4096:
                    return bytes(out)
                piece = bytearray()
                for step in range(length):
                    byte = window[(offset + step) % 4096]
                    piece.append(byte)
                    window[write % 4096] = byte
                    write += 1
                out += piece
            else:
                literal = data[position : position + 1]
                position += 1
                out += literal
                window[write % 4096 : write % 4096 + 1] = literal or b" "
                write += 1
    return bytes(out)
