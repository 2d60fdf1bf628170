"""The reader of binary Excel workbooks (.xlsb, [MS-XLSB]): the parts are sequences of records. It gives no formulas."""

import struct
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import IO

from tools_app.documents import number_format
from tools_app.documents.archive import DAMAGED, WorkbookPackage
from tools_app.documents.document import ParsedDocument
from tools_app.documents.sheet import CellRange, SheetLayout, SheetRow
from tools_app.documents.sheet_notes import drawings
from tools_app.documents.sheet_text import CellTexts, layout_columns, sheet_part

_ROW, _SHEET, _STRING, _FORMAT, _CELL_FORMAT, _COLUMNS, _WORKBOOK, _MERGED = 0, 156, 19, 44, 47, 60, 153, 176
_CELLS = range(1, 12)  # records of cells; 8 to 11 have a formula
_CELL_FORMATS_BEGIN, _CELL_FORMATS_END = 617, 618
_ERRORS = {0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!"}
_ERRORS |= {0x2A: "#N/A", 0x2B: "#GETTING_DATA"}
_STATES = {1: "hidden", 2: "very hidden"}


def open_document(body: bytes) -> ParsedDocument:
    archive = WorkbookPackage(body)
    path = archive.main_part("xl/workbook.bin")
    relations = archive.relationships(path)
    records = [*_records(archive, path, {_SHEET, _WORKBOOK})]
    since_1904 = any(data[0] & 1 for number, data in records if number == _WORKBOOK)
    texts = CellTexts(_codes(archive, path), since_1904=since_1904)
    strings_path = archive.part(path, "sharedStrings", "xl/sharedStrings.bin")
    strings = [_wide(data, 1)[0] for _, data in _records(archive, strings_path, {_STRING})]
    parts = []
    for _, data in (record for record in records if record[0] == _SHEET):
        relation_id, end = _wide(data, 8)
        relation = relations.get(relation_id)
        sheet = _BinarySheet(archive, relation.target if relation else "", texts, strings)
        parts.append(sheet_part(_wide(data, end)[0], _STATES.get(data[0], ""), sheet, texts))
    return ParsedDocument(kind="Excel workbook", unit="sheet", title=archive.title(), parts=parts)


def _records(archive: WorkbookPackage, path: str, numbers: set[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the records with these numbers (2.1.4)."""
    if path not in archive:
        return
    with archive.open(path) as stream:
        while first := stream.read(1):
            number = first[0]
            if number & 0x80:
                number = number & 0x7F | (stream.read(1)[0] & 0x7F) << 7
            data = stream.read(_size(stream))
            if number in numbers:
                yield number, data


def _size(stream: IO[bytes]) -> int:
    size = 0
    for shift in (0, 7, 14, 21):
        byte = stream.read(1)[0]
        size |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
    return size


def _wide(data: bytes, begin: int) -> tuple[str, int]:
    """Return the string at a position, and its end (2.5.168)."""
    length = int.from_bytes(data[begin : begin + 4], "little")
    end = begin + 4 if length == 0xFFFFFFFF else begin + 4 + 2 * length
    return data[begin + 4 : end].decode("utf-16-le", "replace"), end


def _codes(archive: WorkbookPackage, workbook: str) -> list[str]:
    """Return the code of the number format of each cell format (2.4.697, 2.4.827)."""
    custom: dict[int, str] = {}
    numbers: list[int] = []
    is_in_cell_formats = False
    path = archive.part(workbook, "styles", "xl/styles.bin")
    wanted = {_FORMAT, _CELL_FORMAT, _CELL_FORMATS_BEGIN, _CELL_FORMATS_END}
    for number, data in _records(archive, path, wanted):
        if number == _FORMAT:
            custom[int.from_bytes(data[:2], "little")] = _wide(data, 2)[0]
        elif number == _CELL_FORMAT and is_in_cell_formats:
            numbers.append(int.from_bytes(data[2:4], "little"))
        else:
            is_in_cell_formats = number == _CELL_FORMATS_BEGIN
    return [custom.get(number) or number_format.built_in(number) for number in numbers]


class _BinarySheet:
    def __init__(self, archive: WorkbookPackage, path: str, texts: CellTexts, strings: list[str]) -> None:
        self._archive, self._path, self._texts, self._strings = archive, path, texts, strings

    @cached_property
    def layout(self) -> SheetLayout:
        last_row = last_column = 0
        with suppress(*DAMAGED, IndexError, struct.error):  # the rows report the damage
            for line in self.rows():
                last_row, last_column = line.number, max(last_column, len(line.texts))
        hidden_columns: set[int] = set()
        merged = []
        for number, data in _records(self._archive, self._path, {_COLUMNS, _MERGED}):
            first, last, *others = struct.unpack_from("<IIII", data)
            if number == _MERGED:
                left, right = (min(column, 16_383) + 1 for column in others)
                merged.append(CellRange(first_row=first + 1, last_row=last + 1, first_column=left, last_column=right))
            elif data[16] & 1:
                hidden_columns.update(range(first + 1, min(last, 16_383) + 2))
        return SheetLayout(
            last_row=last_row,
            last_column=last_column,
            columns=layout_columns(self, last_column),
            hidden_columns=hidden_columns,
            merged=merged,
            notes=[*drawings(self._archive, self._path)],
        )

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        row, is_hidden = 0, False
        texts: list[str] = []
        numbers: list[int] = []
        for number, data in _records(self._archive, self._path, {_ROW, *_CELLS}):
            if number == _ROW:
                if texts:
                    yield SheetRow(number=row, texts=texts, numbers=numbers, is_hidden=is_hidden)
                row, is_hidden = int.from_bytes(data[:4], "little") + 1, bool(data[11] & 0x10)
                texts, numbers = [], []
            elif text := self._text(number, data, is_source):
                column = int.from_bytes(data[:4], "little")
                texts += [""] * (column + 1 - len(texts))
                texts[column] = text
                if number in (2, 5, 9):
                    numbers.append(column)
        if texts:
            yield SheetRow(number=row, texts=texts, numbers=numbers, is_hidden=is_hidden)

    def _text(self, kind: int, data: bytes, is_source: bool) -> str:
        """Return the text of a cell: its kind is the number of its record (2.2.1)."""
        style = int.from_bytes(data[4:7], "little")
        if kind in (2, 5, 9):
            number = _packed(data) if kind == 2 else struct.unpack_from("<d", data, 8)[0]
            number = int(number) if abs(number) < 10**15 and number == int(number) else number
            return repr(number) if is_source and not self._texts.is_date(style) else self._texts.number(style, number)
        if kind in (3, 11):
            return _ERRORS.get(data[8], "#ERROR")
        if kind in (4, 10):
            return "TRUE" if data[8] else "FALSE"
        if kind in (6, 8):
            return self._texts.text(style, _wide(data, 8)[0])
        if kind == 7:
            index = int.from_bytes(data[8:12], "little")
            found = self._strings[index] if index < len(self._strings) else f"[missing text {index}]"
            return self._texts.text(style, found)
        return ""


def _packed(data: bytes) -> float:
    """Return a number in four bytes: an integer, or the upper half of a float, or a hundredth of one (2.5.122)."""
    packed = int.from_bytes(data[8:12], "little", signed=True)
    number = float(packed >> 2) if packed & 2 else struct.unpack("<d", struct.pack("<q", (packed & ~3) << 32))[0]
    return number / 100 if packed & 1 else number
