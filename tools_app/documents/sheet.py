"""The model of a sheet: its layout, which is known first, and rows of texts, which are read one after another."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")


@dataclass(frozen=True, kw_only=True)
class CellRange:
    """A rectangle of cells, counted from 1, the last ones included."""

    first_row: int
    first_column: int
    last_row: int
    last_column: int

    def __str__(self) -> str:
        return f"{column_name(self.first_column)}{self.first_row}:{column_name(self.last_column)}{self.last_row}"


@dataclass(frozen=True, kw_only=True)
class SheetRow:
    """A row with a text for each column from A on. `numbers` are the positions of numbers among them."""

    number: int
    texts: Sequence[str]
    numbers: Sequence[int] = ()
    is_hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class SheetLayout:
    """The size of a sheet, and what is around its cells. `columns` are the numbers of the columns that are shown.

    `notes` are lines about the cells, such as comments and charts. `kind` is "a chart" for a sheet without cells.
    """

    last_row: int = 0
    last_column: int = 0
    columns: Sequence[int] = ()
    hidden_columns: Set[int] = frozenset()
    merged: Sequence[CellRange] = ()
    formulas: int = 0
    formulas_without_value: int = 0
    notes: Sequence[str] = ()
    kind: str = ""

    @property
    def size(self) -> str:
        if self.kind or not self.last_row:
            return self.kind or "empty"
        return f"{count_of(self.last_row, 'row')} × {count_of(self.last_column, 'column')}"


class Sheet(Protocol):
    """A sheet of a workbook of any format."""

    @property
    def layout(self) -> SheetLayout: ...

    def rows(self, *, is_source: bool = False) -> Iterator[SheetRow]:
        """Yield the rows with content: as they are shown, or as source with formulas and stored numbers."""


@lru_cache(maxsize=20_000)
def column_name(number: int) -> str:
    """Return the letters of a column, counted from 1."""
    name = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


@lru_cache(maxsize=20_000)
def column_number(letters: str) -> int:
    """Return the number of a column, from 1, or 0 for what is none."""
    number = 0
    for letter in letters:
        if not "A" <= letter <= "Z":
            return 0
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def cell_range(text: str) -> CellRange | None:
    """Return the range of a reference such as A1:B2 or A1."""
    first, _, last = text.partition(":")
    begin, end = _REFERENCE.fullmatch(first), _REFERENCE.fullmatch(last or first)
    if not begin or not end:
        return None
    return CellRange(
        first_row=int(begin[2]),
        first_column=column_number(begin[1]),
        last_row=int(end[2]),
        last_column=column_number(end[1]),
    )


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
