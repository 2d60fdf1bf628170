"""PowerPoint (.pptx), slide by slide, with what the speaker notes say."""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import pptx

from tools_app.documents.unreadable import Document, Unreadable, row


def open_document(file: BinaryIO) -> Document:
    """Raises Unreadable."""
    try:
        deck = pptx.Presentation(file)
    except Exception as error:  # damaged parts make the library raise anything
        raise Unreadable("It is damaged, or no PowerPoint presentation that can be read here.") from error
    return Document(title=deck.core_properties.title or "", lines=_lines(deck))


def _lines(deck: Any) -> Iterator[str]:
    number = len(deck.slides)
    for position, slide in enumerate(deck.slides, 1):
        yield f"--- slide {position} of {number} ---"
        yield from _texts(slide.shapes)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame.text.strip()):
            yield f"Notes: {notes}"
        yield ""


def _texts(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _texts(shape.shapes)
        elif shape.has_text_frame and shape.text_frame.text.strip():
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            yield from (row([cell.text for cell in cells.cells]) for cells in shape.table.rows)
