"""Excel (.xlsx): each sheet as a table; of a formula, the value that was last computed."""

from collections.abc import Iterator
from typing import BinaryIO

import openpyxl  # type: ignore[import-untyped]
from openpyxl import Workbook

from tools_app.documents.unreadable import Document, Unreadable, row

_MOST_COLUMNS = 100


def open_document(file: BinaryIO) -> Document:
    """Raises Unreadable."""
    try:
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Exception as error:  # damaged parts make the library raise anything
        raise Unreadable("It is damaged, or no Excel workbook that can be read here.") from error
    return Document(title=workbook.properties.title or "", lines=_lines(workbook))


def _lines(workbook: Workbook) -> Iterator[str]:
    for sheet in workbook.worksheets:
        yield f"--- sheet {sheet.title} ---"
        for values in sheet.iter_rows(values_only=True, max_col=_MOST_COLUMNS):
            cells = ["" if value is None else str(value) for value in values]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield row(cells)
        yield ""
