"""The sheets of an OpenDocument spreadsheet (part 3, 9): their cells store the text that is shown."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from tools_app.documents.document import ParsedPart
from tools_app.documents.opendocument import Element, attribute, local_name
from tools_app.documents.sheet import CellRange, SheetLayout, SheetRow, column_name
from tools_app.documents.sheet_text import CellTexts, layout_columns, sheet_part

_MAX_REPEATED = 1_000  # repetitions of a row or cell with content
_LAST_COLUMN = 16_384
_HIDDEN = ("collapse", "filter")
_NUMBERS = ("float", "percentage", "currency", "date", "time")


def sheet_parts(content: Element, spreadsheet: Element) -> list[ParsedPart]:
    """Return the sheets of a document."""
    hidden_styles = {
        attribute(style, "name")
        for style in content.iter("{*}style")
        for properties in style.iterchildren("{*}table-properties")
        if attribute(properties, "display") == "false"
    }
    texts = CellTexts((), since_1904=False)
    return [
        sheet_part(
            attribute(table, "name"),
            "hidden" if attribute(table, "style-name") in hidden_styles else "",
            _OpenSheet(table),
            texts,
        )
        for table in spreadsheet.iterchildren("{*}table")
    ]


class _OpenCell(NamedTuple):
    row: int
    column: int
    element: Element
    text: str


class _OpenSheet:
    def __init__(self, table: Element) -> None:
        self._table = table

    @cached_property
    def layout(self) -> SheetLayout:
        cells = [cell for _, row in self._rows() for cell in row]
        last_column = max((cell.column for cell in cells if cell.text), default=0)
        formulas = [cell for cell in cells if attribute(cell.element, "formula")]
        return SheetLayout(
            last_row=max((cell.row for cell in cells if cell.text), default=0),
            last_column=last_column,
            columns=layout_columns(self, last_column),
            hidden_columns=self._hidden_columns(),
            merged=[merged for cell in cells if (merged := _merged(cell))],
            formulas=len(formulas),
            formulas_without_value=sum(not cell.text for cell in formulas),
            notes=[*self._notes(cells)],
        )

    def _notes(self, cells: Iterable[_OpenCell]) -> Iterator[str]:
        """Yield comments and links of cells, and text boxes."""
        for cell in cells:
            place = f"{column_name(cell.column)}{cell.row}"
            for link in cell.element.iterfind("{*}p//{*}a"):
                yield f"Link in {place}: {attribute(link, 'href')}"
            for annotation in cell.element.iterchildren("{*}annotation"):
                yield f"Comment on {place}: {_text(annotation)}"
        yield from (f"Text box: {_text(box)}" for box in self._table.iter("{*}text-box"))

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        for element, cells in self._rows():
            texts: list[str] = []
            numbers: list[int] = []
            for cell in cells:
                formula = attribute(cell.element, "formula").partition(":")[2] if is_source else ""
                text = " → ".join(filter(None, [formula, cell.text]))
                if text:
                    texts += [""] * (cell.column - len(texts))
                    texts[cell.column - 1] = text
                    if attribute(cell.element, "value-type") in _NUMBERS:
                        numbers.append(cell.column - 1)
            if texts:
                is_hidden = attribute(element, "visibility") in _HIDDEN
                yield SheetRow(number=cells[0].row, texts=texts, numbers=numbers, is_hidden=is_hidden)

    def _rows(self) -> Iterator[tuple[Element, list[_OpenCell]]]:
        """Yield the rows with a cell that has content, and these cells. Repeated ones are yielded again."""
        number = 0
        for element in self._table.iter("{*}table-row"):
            repeated = _repeated(element, "number-rows-repeated")
            filled = [*_filled_cells(element)]
            for position in range(1, min(repeated, _MAX_REPEATED) + 1) if filled else ():
                yield element, [_OpenCell(number + position, column, cell, _text(cell)) for column, cell in filled]
            number += repeated

    def _hidden_columns(self) -> set[int]:
        hidden: set[int] = set()
        number = 1
        for element in self._table.iter("{*}table-column"):
            following = min(number + _repeated(element, "number-columns-repeated"), _LAST_COLUMN + 1)
            if attribute(element, "visibility") in _HIDDEN:
                hidden.update(range(number, following))
            number = following
        return hidden


def _filled_cells(row: Element) -> Iterator[tuple[int, Element]]:
    """Yield number and element of each cell with content."""
    number = 1
    for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
        repeated = _repeated(cell, "number-columns-repeated")
        if len(cell) or attribute(cell, "formula"):
            yield from ((number + position, cell) for position in range(min(repeated, _MAX_REPEATED)))
        number += repeated


def _repeated(element: Element, name: str) -> int:
    text = attribute(element, name)
    return int(text) if text.isdecimal() and len(text) < 10 else 1


def _merged(cell: _OpenCell) -> CellRange | None:
    width = _repeated(cell.element, "number-columns-spanned")
    height = _repeated(cell.element, "number-rows-spanned")
    if width == height == 1:
        return None
    return CellRange(
        first_row=cell.row,
        first_column=cell.column,
        last_row=cell.row + height - 1,
        last_column=cell.column + width - 1,
    )


def _text(element: Element) -> str:
    """Return the text of the paragraphs, without comments and drawings."""
    paragraphs = (child for child in element if local_name(child) in ("p", "h"))
    return "\n".join("".join(_words(paragraph)) for paragraph in paragraphs).strip()


def _words(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = local_name(child)
        yield {"s": " " * min(_repeated(child, "c"), _MAX_REPEATED), "tab": "\t", "line-break": "\n"}.get(name, "")
        if name != "annotation":
            yield from _words(child)
        yield child.tail or ""
