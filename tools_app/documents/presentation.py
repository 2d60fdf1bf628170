"""The PowerPoint reader (.pptx): texts, tables, figures of charts, descriptions of pictures and notes of each slide."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import pptx

from tools_app.documents.document import ParsedDocument, ParsedPart, row


def open_document(body: bytes) -> ParsedDocument:
    deck = pptx.Presentation(BytesIO(body))
    count = len(deck.slides)
    parts = []
    for number, slide in enumerate(deck.slides, 1):
        hidden = " (hidden)" if slide.element.get("show") in ("0", "false") else ""  # ISO 29500-1, 19.3.1.38
        parts.append(ParsedPart(title=f"slide {number} of {count}{hidden}", lines=_lines(slide)))
    title = deck.core_properties.title or ""
    return ParsedDocument(kind="PowerPoint presentation", unit="slide", title=title, parts=parts)


def _lines(slide: Any) -> Iterator[str]:
    yield from _texts(slide.shapes)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) and notes.text.strip():
        yield f"Notes: {notes.text}"


def _texts(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame.text
        elif shape.has_table:
            yield from (row([cell.text for cell in cells.cells]) for cells in shape.table.rows)
        elif shape.has_chart:
            yield from _chart(shape.chart)
        elif description := shape._element.xpath("string(.//p:cNvPr/@descr)"):
            yield f"[picture: {description}]"


def _chart(chart: Any) -> Iterator[str]:
    """Yield the figures of the chart: a row for each category, a column for each series."""
    yield f"Chart: {chart.chart_title.text_frame.text}" if chart.has_title else "Chart:"
    for plot in chart.plots:
        all_series = list(plot.series)
        yield row(["", *(series.name for series in all_series)])
        for index, category in enumerate(plot.categories):
            values = (series.values[index] if index < len(series.values) else None for series in all_series)
            yield row([str(category), *("" if value is None else str(value) for value in values)])
