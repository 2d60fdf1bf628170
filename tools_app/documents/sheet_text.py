"""The text of a sheet for a model: its size, the names of its columns, its rows, and the words around them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from tools_app.documents import number_format
from tools_app.documents.document import ParsedPart, row
from tools_app.documents.sheet import Sheet, SheetLayout, column_name, count_of

_ALL_COLUMNS = 100  # a wider sheet is shown without its empty columns
_MANY_ROWS = 500
_MAX_RANGES = 200  # merged ranges that are listed
_MAX_CACHED = 100_000  # texts of cells


class CellTexts:
    """The texts of cells. `codes` are the number formats of the workbook's cell formats."""

    def __init__(self, codes: Sequence[str], *, since_1904: bool) -> None:
        self.since_1904 = since_1904
        self.rounded = 0  # numbers that were shown with fewer digits than they have
        self._codes = codes
        self._texts: dict[tuple[int, float], tuple[str, bool]] = {}

    def number(self, style: int, value: float) -> str:
        code = self._code(style)
        if code == number_format.GENERAL:
            return number_format.general(value)
        if (style, value) not in self._texts:
            if len(self._texts) > _MAX_CACHED:
                self._texts.clear()
            try:
                text = number_format.shown(code, value, since_1904=self.since_1904)
            except (ArithmeticError, LookupError, ValueError):  # an odd format costs no number
                text = number_format.general(value)
            is_rounded = not number_format.is_date(code) and _digits(number_format.general(value)) != _digits(text)
            self._texts[style, value] = text, is_rounded
        text, is_rounded = self._texts[style, value]
        self.rounded += is_rounded
        return text

    def is_date(self, style: int) -> bool:
        return number_format.is_date(self._code(style))

    def text(self, style: int, text: str) -> str:
        code = self._code(style)
        return text if code == number_format.GENERAL else number_format.shown_text(code, text)

    def _code(self, style: int) -> str:
        return self._codes[style] if 0 <= style < len(self._codes) else number_format.GENERAL


def _digits(text: str) -> str:
    return "".join(filter(str.isdecimal, text)).strip("0")


def layout_columns(sheet: Sheet, last_column: int) -> Sequence[int]:
    """Return the columns to show: all up to the last, but in a wide sheet only those with content."""
    if last_column <= _ALL_COLUMNS:
        return range(1, last_column + 1)
    used: set[int] = set()
    with suppress(Exception):  # damage is reported where the rows are shown
        for line in sheet.rows():
            used.update(number for number, text in enumerate(line.texts, 1) if text)
    return sorted(used)


def sheet_part(name: str, state: str, sheet: Sheet, texts: CellTexts) -> ParsedPart:
    """Return a sheet as a part of a document. `state` is "", "hidden" or "very hidden"."""
    return ParsedPart(
        title=f"sheet {name}{f' ({state})' if state else ''}",
        size=lambda: sheet.layout.size,
        lines=_lines(sheet, texts, is_source=False),
        source=_lines(sheet, texts, is_source=True),
        sheet=sheet,
    )


def _lines(sheet: Sheet, texts: CellTexts, *, is_source: bool) -> Iterator[str]:
    layout, rounded = sheet.layout, texts.rounded
    yield from _head(layout, is_source=is_source)
    if layout.last_row:
        names = (f"{column_name(number)}{' (hidden)' * (number in layout.hidden_columns)}" for number in layout.columns)
        yield row(["", *names])
    for line in sheet.rows(is_source=is_source):
        cells = [line.texts[number - 1] for number in layout.columns if number <= len(line.texts)]
        yield row([f"{line.number}{' (hidden)' * line.is_hidden}", *cells])
    if texts.rounded > rounded and not is_source:
        yield '[Some numbers are rounded by their formats; view="source" shows them as they are stored.]'
    yield from layout.notes


def _head(layout: SheetLayout, *, is_source: bool) -> Iterator[str]:
    """Yield what a reader of the first rows has to know of all of them."""
    if layout.last_row > _MANY_ROWS:
        yield "[Many rows: compute with pandas in the shell, and find words with match.]"
        if layout.notes:
            yield f"[{count_of(len(layout.notes), 'line')} about the cells follow the last row.]"
    if len(layout.columns) < layout.last_column:
        yield "[Empty columns are left out.]"
    if layout.merged:
        ranges = [f"{merged} merged" for merged in layout.merged[:_MAX_RANGES]]
        more = len(layout.merged) - len(ranges)
        yield f"[{', '.join(ranges)}{f' and {more:,} more ranges' if more else ''}]"
    if layout.formulas and not is_source:
        missing = layout.formulas_without_value
        which = "" if missing == layout.formulas else f", {missing:,} of them"
        without = f"{which} without a stored value, shown as formulas" if missing else ""
        yield f'[{count_of(layout.formulas, "formula")}{without}; view="source" shows formulas and stored numbers]'
