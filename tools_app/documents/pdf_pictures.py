"""Pages of a PDF as pictures: one, or a sheet of several with their numbers. They are drawn in a child process."""

import base64
import math
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from pypdfium2 import PdfDocument, PdfPage  # type: ignore[import-untyped]

from tools_app.documents.document import DocumentParseError
from tools_app.documents.pdf import opened

_LONGER_EDGE = 1568  # pixels: larger pictures are scaled down before a model sees them (llm_app/pictures.py)
_LABEL, _GAP = 28, 8  # pixels: the line with a page's number, and the space after a page of a sheet


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, str | int]:
    """Return a page, counted from 1, or a sheet of several as a base64 PNG. It runs in a child process.

    {"page", "pages", "region"} → {"picture", "last", "total"}, the last page drawn and the number of all, or {"error"}
    The region of a single page is [left, top, right, bottom] in shares of it.
    """
    try:
        pdf, first = opened(body), request["page"]
        if first > len(pdf):
            raise DocumentParseError(f"There is no page {first}: it has {len(pdf)}.")
    except DocumentParseError as error:
        return {"error": str(error)}
    pdf.init_forms()  # otherwise the values of fields are not drawn
    last = min(first + request["pages"] - 1, len(pdf))
    image = _region(pdf[first - 1], *request["region"]) if first == last else _sheet(pdf, first, last)
    out = BytesIO()
    image.save(out, "PNG")
    return {"picture": base64.b64encode(out.getvalue()).decode(), "last": last, "total": len(pdf)}


def _region(page: PdfPage, left: float, top: float, right: float, bottom: float) -> Image.Image:
    """Return a part of a page as large as a model sees pictures."""
    width, height = page.get_size()
    scale = _LONGER_EDGE / max(width * (right - left), height * (bottom - top), 1)
    crop = (left * width, (1 - bottom) * height, (1 - right) * width, top * height)
    drawing: Image.Image = page.render(scale=scale, crop=crop).to_pil()
    return drawing


def _drawing(page: PdfPage, width: int, height: int) -> Image.Image:
    """Draw a page as large as fits into this size in pixels."""
    page_width, page_height = page.get_size()
    scale = min(width / max(page_width, 1), height / max(page_height, 1))
    drawing: Image.Image = page.render(scale=scale).to_pil()
    return drawing


def _sheet(pdf: PdfDocument, first: int, last: int) -> Image.Image:
    """Return pages in rows, each below its number."""
    count = last - first + 1
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    width, height = _LONGER_EDGE // columns - _GAP, _LONGER_EDGE // rows - _LABEL - _GAP
    drawings = [_drawing(pdf[number - 1], width, height) for number in range(first, last + 1)]
    width, height = max(drawing.width for drawing in drawings), max(drawing.height for drawing in drawings)
    sheet = Image.new("RGB", (columns * (width + _GAP), rows * (height + _LABEL + _GAP)), "#c8c8c8")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(_LABEL - 8)
    for index, drawing in enumerate(drawings):
        left, top = index % columns * (width + _GAP), index // columns * (height + _LABEL + _GAP)
        pen.text((left + 4, top + 2), f"Page {first + index}", "black", font)
        sheet.paste(drawing, (left, top + _LABEL))
    return sheet
