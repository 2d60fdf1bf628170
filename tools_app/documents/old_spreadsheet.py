"""The reader of Excel files before 2007 (.xls, .xlt), with xlrd. It gives no formulas.

Of a file that xlrd refuses, calamine reads the values.
"""

from collections.abc import Iterator
from functools import cached_property
from io import BytesIO, StringIO
from typing import Any

import python_calamine
import xlrd  # type: ignore[import-untyped]

from tools_app.documents import number_format
from tools_app.documents.document import DocumentParseError, ParsedDocument, ParsedPart
from tools_app.documents.sheet import CellRange, SheetLayout, SheetRow, column_name
from tools_app.documents.sheet_text import CellTexts, layout_columns, sheet_part

_EMPTY = bytes((xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK))
_NUMBERS = (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE)
_LOCALE_DATES = (14, 22)  # formats that depend on the locale
_STATES = {1: "hidden", 2: "very hidden"}


def open_document(body: bytes) -> ParsedDocument:
    """Open a workbook.

    Raises: DocumentParseError.
    """
    try:
        parts = _parts(
            xlrd.open_workbook(file_contents=body, formatting_info=True, logfile=StringIO(), ragged_rows=True)
        )
    except MemoryError:
        raise
    except Exception as error:  # of any kind, for files that Excel opens
        if "encrypted" in str(error):
            raise DocumentParseError("It is encrypted and needs a password.") from error
        parts = _parts_of_values(body)
    return ParsedDocument(kind="Excel workbook", unit="sheet", parts=parts)


def _parts(book: Any) -> list[ParsedPart]:
    codes = [_code(book, xf.format_key) for xf in book.xf_list]
    texts = CellTexts(codes, since_1904=bool(book.datemode))
    return [
        sheet_part(sheet.name, _STATES.get(sheet.visibility, ""), _OldSheet(sheet, texts), texts)
        for sheet in book.sheets()
    ]


def _code(book: Any, number: int) -> str:
    code = "" if number in _LOCALE_DATES else book.format_map[number].format_str
    return code or number_format.built_in(number)


def _parts_of_values(body: bytes) -> list[ParsedPart]:
    """Return the sheets without formats.

    Raises: DocumentParseError.
    """
    texts = CellTexts((), since_1904=False)
    try:
        book = python_calamine.load_workbook(BytesIO(body))
        return [sheet_part(name, "", _ValueSheet(book.get_sheet_by_name(name)), texts) for name in book.sheet_names]
    except (python_calamine.CalamineError, OSError) as error:
        raise DocumentParseError("It is damaged.") from error


class _OldSheet:
    def __init__(self, sheet: Any, texts: CellTexts) -> None:
        self._sheet, self._texts = sheet, texts

    @cached_property
    def layout(self) -> SheetLayout:
        last_row = last_column = 0
        for line in self.rows():
            last_row, last_column = line.number, max(last_column, len(line.texts))
        return SheetLayout(
            last_row=last_row,
            last_column=last_column,
            columns=layout_columns(self, last_column),
            hidden_columns={number + 1 for number, info in self._sheet.colinfo_map.items() if info.hidden},
            merged=[
                CellRange(first_row=top + 1, last_row=bottom, first_column=left + 1, last_column=right)
                for top, bottom, left, right in self._sheet.merged_cells
            ],
            notes=[*self._notes()],
        )

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        sheet = self._sheet
        for number in range(sheet.nrows):
            kinds = bytes(sheet.row_types(number)).rstrip(_EMPTY)
            cells = sheet.row_slice(number, 0, len(kinds))
            texts = ["" if kinds[place] in _EMPTY else self._text(cell, is_source) for place, cell in enumerate(cells)]
            numbers = [place for place, kind in enumerate(kinds) if kind in _NUMBERS]
            info = sheet.rowinfo_map.get(number)
            if any(texts):
                is_hidden = bool(info and info.hidden)
                yield SheetRow(number=number + 1, texts=texts, numbers=numbers, is_hidden=is_hidden)

    def _text(self, cell: Any, is_source: bool) -> str:
        style = cell.xf_index
        if cell.ctype in _NUMBERS:
            number = int(cell.value) if cell.value.is_integer() and abs(cell.value) < 10**15 else cell.value
            return repr(number) if is_source and not self._texts.is_date(style) else self._texts.number(style, number)
        if cell.ctype == xlrd.XL_CELL_TEXT:
            return self._texts.text(style, cell.value)
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            return "TRUE" if cell.value else "FALSE"
        return str(xlrd.error_text_from_code.get(cell.value, "#ERROR"))

    def _notes(self) -> Iterator[str]:
        for (row, column), note in sorted(self._sheet.cell_note_map.items()):
            author = f" ({note.author})" if note.author else ""
            text = " ".join(note.text.removeprefix(f"{note.author}:").split())
            yield f"Comment on {column_name(column + 1)}{row + 1}{author}: {text}"
        for link in self._sheet.hyperlink_list:
            target = "#".join(filter(None, [link.url_or_path, link.textmark]))
            yield f"Link in {column_name(link.fcolx + 1)}{link.frowx + 1}: {target}"


class _ValueSheet:
    """A sheet as calamine reads it."""

    def __init__(self, sheet: python_calamine.CalamineSheet) -> None:
        self._sheet = sheet

    @cached_property
    def layout(self) -> SheetLayout:
        last_row, last_column = (number + 1 for number in self._sheet.end or (-1, -1))
        columns = layout_columns(self, last_column)
        notes = ["[The formats of this file cannot be read: numbers are shown as they are stored.]"]
        return SheetLayout(last_row=last_row, last_column=last_column, columns=columns, notes=notes)

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        first_row, first_column = self._sheet.start or (0, 0)
        for number, values in enumerate(self._sheet.to_python(), first_row + 1):
            texts = [""] * first_column + [_value_text(value) for value in values]
            if any(texts):
                yield SheetRow(number=number, texts=texts)


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return number_format.general(value) if isinstance(value, int | float) else str(value)
