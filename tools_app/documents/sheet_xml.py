"""The cells in the XML of a sheet (ISO 29500-1, 18.3.1), row by row.

A parser makes an object of each element, which takes most of the time of a large sheet. So the usual form of a row is
read with an expression, four times as fast. Any other row is parsed.
"""

import html
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from typing import NamedTuple

from tools_app.documents.archive import WorkbookPackage
from tools_app.documents.opendocument import Element, local_name, parse

_CHUNK = 1024**2  # bytes
_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_DECLARATION = re.compile(r"^\s*+<\?[^>]*+>")
_ENCODING = re.compile(rb"<\?xml[^>]*?\sencoding=[\"']([\w.-]{1,40})[\"']")
_ROOT = re.compile(rb"<((?:\w{1,50}+:)?+)\w{1,50}?sheet\b[^<>]*+>")
_CELL = re.compile(
    r'<c r="([A-Z]{1,3})\d{1,7}"(?: s="(\d{1,6})")?(?: t="(\w{1,9})")?(?:/>|>'
    r"(?:<f([^>/]*)(?:/>|>([^<]*)</f>))?"
    r'(?:<v>([^<]*)</v>|<v ?/>|<is><t(?: xml:space="preserve")?>([^<]*)</t></is>)?</c>)'
)
_NUMBER = re.compile(r'\sr="(\d{1,7})"')
_HIDDEN = re.compile(r'\s(?:hidden="(?:1|true)"|ht="0")')
_FORMULA_ATTRIBUTE = re.compile(r"\s(t|si)=[\"'](\w{1,20})[\"']")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


class CellXML(NamedTuple):
    """A cell as it is stored (18.3.1.4). A formula is (text, index of a shared formula or "")."""

    letters: str
    style: str
    kind: str
    value: str
    formula: tuple[str, str] | None
    string: str | None


class SheetXML:
    """A sheet's part of the archive. After all rows are read, `around` has the other elements of the sheet."""

    def __init__(self, archive: WorkbookPackage, path: str) -> None:
        self._archive, self._path = archive, path
        self._root, self._prefix = b"", b""
        self.around: Element | None = None

    def rows(self) -> Iterator[str]:
        """Yield the XML of each row.

        Raises: errors of archives and XML for damaged parts.
        """
        if self._path not in self._archive:
            return
        chunks = self._chunks()
        data = next(chunks, b"")
        while not (root := _ROOT.search(data)) and (more := next(chunks, b"")):
            data += more
        if not root:
            raise ValueError("no sheet")
        self._root, self._prefix = root[0], root[1]
        begin, end, last = (
            b"<" + self._prefix + b"row",
            b"</" + self._prefix + b"row>",
            b"</" + self._prefix + b"sheetData>",
        )
        around, position = b"", 0
        while True:
            start = data.find(begin, position)
            closing = data.find(last, position, start if start >= 0 else len(data))
            stop = _end_of_row(data, start, end) if start >= 0 and closing < 0 else -1
            if stop >= 0:
                around += data[position:start]
                yield data[start:stop].decode("utf-8", "replace")
                position = stop
            elif closing >= 0:
                around += data[position:] + b"".join(chunks)
                break
            elif more := next(chunks, b""):
                data, position = data[position:] + more, 0
            else:
                around += data[position:]
                break
        self.around = parse(around)

    def cells(self, row: str) -> Iterator[CellXML]:
        """Yield the cells of a row."""
        found = _CELL.findall(row)
        if not self._prefix and len(found) == row.count("<c ") + row.count("<c>"):
            for letters, style, kind, attributes, formula, value, string in found:
                yield CellXML(
                    letters,
                    style,
                    kind or "n",
                    html.unescape(value) if "&" in value else value,
                    _formula(attributes, formula) if attributes or formula else None,
                    unescaped(html.unescape(string)) if string else None,
                )
            return
        name = self._root[1:].split(None, 1)[0].rstrip(b"/>")
        yield from map(_cell, parse(self._root + row.encode() + b"</" + name + b">")[0])

    def _chunks(self) -> Iterator[bytes]:
        """Yield the part as UTF-8. Only Excel's own encoding is read in chunks."""
        with self._archive.open(self._path) as stream:
            head = stream.read(_CHUNK)
            declared = _ENCODING.match(head)
            encoding = "utf-16" if head.startswith(_UTF_16) else declared[1].decode() if declared else "utf-8"
            if encoding.lower() in ("utf-8", "us-ascii"):
                yield head.removeprefix(BOM_UTF8)
                while chunk := stream.read(_CHUNK):
                    yield chunk
            else:
                yield _DECLARATION.sub("", (head + stream.read()).decode(encoding)).encode()


def _end_of_row(data: bytes, start: int, end: bytes) -> int:
    """Return the end of the row, or -1 if the data ends before."""
    tag_end = data.find(b">", start)
    if tag_end < 0:
        return -1
    if data[tag_end - 1 : tag_end] == b"/":
        return tag_end + 1
    found = data.find(end, tag_end)
    return found + len(end) if found >= 0 else -1


def row_number(row: str, previous: int) -> int:
    found = _NUMBER.search(row, 0, row.find(">"))
    return int(found[1]) if found else previous + 1


def is_hidden(row: str) -> bool:
    return bool(_HIDDEN.search(row, 0, row.find(">")))


def _formula(attributes: str, text: str) -> tuple[str, str]:
    found = dict(_FORMULA_ATTRIBUTE.findall(attributes))
    return html.unescape(text), found.get("si", "") if found.get("t") == "shared" else ""


def _cell(element: Element) -> CellXML:
    value, formula, string = "", None, None
    for child in element:
        name = local_name(child)
        if name == "v":
            value = child.text or ""
        elif name == "f":
            formula = child.text or "", child.get("si", "") if child.get("t") == "shared" else ""
        elif name == "is":
            string = string_of(child)
    letters = element.get("r", "").rstrip("0123456789")
    return CellXML(letters, element.get("s", ""), element.get("t", "n"), value, formula, string)


def string_of(element: Element) -> str:
    """Return the text of a string, without phonetic hints (18.4.8)."""
    if len(element) == 1 and not len(element[0]):
        return unescaped(element[0].text or "")
    runs = (child for child in element if local_name(child) in ("t", "r"))
    return unescaped("".join(text for run in runs for text in run.itertext("{*}t")))


def unescaped(text: str) -> str:
    """Return the text with the characters that are written as their number (22.9.2.19)."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text
