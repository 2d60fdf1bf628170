"""The Excel reader (.xlsx, .xlsm, templates): each cell as Excel shows it.

A cell with a formula shows the value that was last computed. If the program that wrote the file computed none, it shows
the formula. Damaged styles, properties and drawings cost no cell. Sheets are read row by row.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, time, timedelta
from functools import cached_property
from math import isfinite
from posixpath import basename

from lxml import etree
from openpyxl.formula.translate import Translator  # type: ignore[import-untyped]

from tools_app.documents import number_format
from tools_app.documents.archive import DAMAGED, WorkbookPackage
from tools_app.documents.document import DocumentParseError, ParsedDocument
from tools_app.documents.opendocument import Element, attribute
from tools_app.documents.sheet import SheetLayout, SheetRow, cell_range, column_name, column_number
from tools_app.documents.sheet_notes import comments, defined_names, drawings, formula_links, sheet_note, tables
from tools_app.documents.sheet_text import CellTexts, layout_columns, sheet_part
from tools_app.documents.sheet_xml import CellXML, SheetXML, is_hidden, row_number, string_of, unescaped

_NEW_FUNCTION = re.compile(r"_xl(?:fn|ws|udf)\.")  # before the names of functions that came after 2007
_DAY = timedelta(days=1)
_YES = ("1", "true")
_STATES = {"hidden": "hidden", "veryHidden": "very hidden"}
_BOOLEANS = {"1": "TRUE", "true": "TRUE", "0": "FALSE", "false": "FALSE"}
_LONG = 22  # digits of an integer that is stored as a float


def open_document(body: bytes) -> ParsedDocument:
    """Open a workbook.

    Raises: DocumentParseError.
    """
    archive = WorkbookPackage(body)
    path = archive.main_part("xl/workbook.xml")
    workbook, relations = archive.xml(path), archive.relationships(path)
    root = workbook if workbook is not None else etree.Element("workbook")
    texts = CellTexts(_codes(archive, path), since_1904=_is_since_1904(root))
    strings = _SharedStrings(archive, archive.part(path, "sharedStrings", "xl/sharedStrings.xml"))
    parts = []
    for position, element in enumerate(root.iterfind("{*}sheets/{*}sheet")):
        relation = relations.get(attribute(element, "id"))
        sheet_path = relation.target if relation else ""
        if sheet_path not in archive:
            sheet_path = f"xl/worksheets/sheet{position + 1}.xml"
        sheet = _XMLSheet(archive, sheet_path, texts, strings, defined_names(root, position))
        state = _STATES.get(element.get("state", ""), "")
        parts.append(sheet_part(element.get("name", ""), state, sheet, texts))
    if not parts:  # the list of sheets is damaged
        for sheet_path in archive.parts("xl/worksheets/sheet"):
            sheet = _XMLSheet(archive, sheet_path, texts, strings, ())
            parts.append(sheet_part(basename(sheet_path), "", sheet, texts))
    if not parts:
        raise DocumentParseError("It is damaged: it has no sheets.")
    return ParsedDocument(kind="Excel workbook", unit="sheet", title=archive.title(), parts=parts)


def _is_since_1904(workbook: Element) -> bool:
    properties = workbook.find("{*}workbookPr")
    return properties is not None and properties.get("date1904") in _YES


def _codes(archive: WorkbookPackage, workbook: str) -> list[str]:
    """Return the code of the number format of each cell format (18.8.10)."""
    styles = archive.xml(archive.part(workbook, "styles", "xl/styles.xml"))
    if styles is None:
        return []
    custom = {
        element.get("numFmtId"): element.get("formatCode", "") for element in styles.iterfind("{*}numFmts/{*}numFmt")
    }
    numbers = [element.get("numFmtId", "") for element in styles.iterfind("{*}cellXfs/{*}xf")]
    return [custom.get(number) or number_format.built_in(_integer(number, 0)) for number in numbers]


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else default


class _SharedStrings:
    """The shared strings of a workbook, read as far as they are needed."""

    def __init__(self, archive: WorkbookPackage, path: str) -> None:
        self._strings: list[str] = []
        self._others = map(string_of, archive.elements(path, "si"))

    def __getitem__(self, index: int) -> str:
        while index >= len(self._strings):
            if (string := next(self._others, None)) is None:
                return f"[missing text {index}]"
            self._strings.append(string)
        return self._strings[index]


class _XMLSheet:
    """A sheet as XML. Its part is read again for the layout and for each iteration of the rows."""

    def __init__(
        self, archive: WorkbookPackage, path: str, texts: CellTexts, strings: _SharedStrings, names: Sequence[str]
    ) -> None:
        self._archive, self._path, self._texts, self._strings, self._names = archive, path, texts, strings, names

    @cached_property
    def layout(self) -> SheetLayout:
        survey = _Survey(SheetXML(self._archive, self._path))
        around = survey.around
        relations = self._archive.relationships(self._path)
        noted = around.iter("{*}hyperlink", "{*}dataValidation", "{*}headerFooter")
        notes = [
            *(note for element in noted for note in sheet_note(element, relations)),
            *survey.links,
            *tables(self._archive, self._path),
            *comments(self._archive, self._path),
            *drawings(self._archive, self._path),
            *self._names,
        ]
        kind = "" if self._path in self._archive else "missing in the file"
        if not survey.last_row and any(note.startswith("Chart") for note in notes):
            kind = "a chart"
        merged = (cell_range(element.get("ref", "")) for element in around.iter("{*}mergeCell"))
        return SheetLayout(
            last_row=survey.last_row,
            last_column=survey.last_column,
            columns=layout_columns(self, survey.last_column),
            hidden_columns={column for element in around.iter("{*}col") for column in _hidden(element)},
            merged=[each for each in merged if each],
            formulas=survey.formulas,
            formulas_without_value=survey.formulas_without_value,
            notes=notes,
            kind=kind,
        )

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        sheet, number = SheetXML(self._archive, self._path), 0
        shared: dict[str, Translator] = {}
        for row in sheet.rows():
            number = row_number(row, number)
            texts: list[str] = []
            numbers: list[int] = []
            column = 0
            for cell in sheet.cells(row):
                column = column_number(cell.letters) or column + 1
                text = self._source(cell) if is_source else self._shown(cell)
                if cell.formula and (is_source or not text):
                    formula = _formula(cell.formula, f"{column_name(column)}{number}", shared)
                    if text:
                        text = f"{formula} → {text}"
                    elif is_source or cell.kind != "str":
                        text = formula
                if text:
                    texts += [""] * (column - len(texts))
                    texts[column - 1] = text
                    if cell.value and cell.kind in ("n", "d"):
                        numbers.append(column - 1)
            if texts:
                yield SheetRow(number=number, texts=texts, numbers=numbers, is_hidden=is_hidden(row))

    def _shown(self, cell: CellXML) -> str:
        kind, value, style = cell.kind, cell.value, int(cell.style or 0)
        if kind == "n" and value:
            return self._texts.number(style, number) if (number := _number(value)) is not None else value
        if kind == "s" and value:
            return self._texts.text(style, self._strings[_integer(value, 0)])
        if cell.string is not None and not (kind == "str" and value):
            return self._texts.text(style, cell.string)
        if kind in ("str", "inlineStr"):
            return self._texts.text(style, unescaped(value))
        if kind == "d":
            return self._date(style, value)
        return _BOOLEANS.get(value, value) if kind == "b" else value  # or an error

    def _source(self, cell: CellXML) -> str:
        is_number = cell.kind == "n" and cell.value and not self._texts.is_date(int(cell.style or 0))
        return cell.value if is_number else self._shown(cell)

    def _date(self, style: int, value: str) -> str:
        """Return an ISO date in the format of its cell, or as it is stored if the cell has another format."""
        try:
            if ":" in value[:3]:
                moment = datetime.combine(datetime.min, time.fromisoformat(value)) - datetime.min
            else:
                epoch = datetime(1904, 1, 1) if self._texts.since_1904 else datetime(1899, 12, 30)
                moment = datetime.fromisoformat(value).replace(tzinfo=None) - epoch
        except ValueError:
            return value
        return self._texts.number(style, moment / _DAY) if self._texts.is_date(style) else value


class _Survey:
    """The extent of a sheet, its formulas, and the elements around its rows. It ends where the sheet is damaged."""

    def __init__(self, sheet: SheetXML) -> None:
        self.last_row = self.last_column = self.formulas = self.formulas_without_value = 0
        self.links: list[str] = []
        self._sheet = sheet
        number = 0
        with suppress(*DAMAGED):  # the rows report it
            for row in sheet.rows():
                number = row_number(row, number)
                if column := self._last_column(row):
                    self.last_row, self.last_column = max(self.last_row, number), max(self.last_column, column)
                if "<f" in row or ":f" in row:
                    self._add_formulas(row, number)
        self.around = etree.Element("worksheet") if sheet.around is None else sheet.around

    def _last_column(self, row: str) -> int:
        """Return the number of the last column with content."""
        end = len(row)
        while (end := row.rfind("</c>", 0, end)) >= 0:
            begin = row.rfind("<c ", 0, end)
            if row[begin : begin + 6] != '<c r="':
                break
            if "><" in row[begin:end]:
                return column_number(row[begin + 6 : row.find('"', begin + 6)].rstrip("0123456789"))
        column = last = 0
        for cell in self._sheet.cells(row):
            column = column_number(cell.letters) or column + 1
            if cell.value or cell.formula or cell.string:
                last = column
        return last

    def _add_formulas(self, row: str, number: int) -> None:
        column = 0
        for cell in self._sheet.cells(row):
            column = column_number(cell.letters) or column + 1
            if cell.formula:
                self.formulas += 1
                self.formulas_without_value += not cell.value and cell.kind != "str"
                self.links += formula_links(f"{column_name(column)}{number}", cell.formula[0])


def _number(value: str) -> float | None:
    try:
        number = int(value) if len(value) < _LONG and value.isdecimal() else float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _hidden(column: Element) -> Iterable[int]:
    """Return the numbers of columns that an element hides."""
    if column.get("hidden") not in _YES and column.get("width") not in ("0", "0.0"):
        return ()
    return range(_integer(column.get("min"), 1), min(_integer(column.get("max"), 0), 16_384) + 1)


def _formula(formula: tuple[str, str], cell: str, shared: dict[str, Translator]) -> str:
    """Return a formula as Excel shows it. The cells of a shared formula but the first only name it (18.3.1.40)."""
    text, index = f"={_NEW_FUNCTION.sub('', formula[0])}", formula[1]
    if formula[0] and index:
        shared[index] = Translator(text, origin=cell)
    if formula[0] or index not in shared:
        return text
    translated: str = shared[index].translate_formula(cell)
    return translated
