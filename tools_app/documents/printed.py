"""A document of Markdown or HTML as a PDF, drawn in a child process."""

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any

from PIL import Image, ImageFile, ImageOps

from tools_app.documents.deck.blocks import SlideLine, SlideTable, TextRun, blocks_of
from tools_app.documents.deck.canvas import DARK, GREY, Canvas
from tools_app.documents.deck.layout import Box
from tools_app.documents.html_blocks import blocks_of_html

_WIDTH, _HEIGHT, _MARGIN, _SIZE = 595.28, 841.89, 60, 11  # A4
_HEADINGS = (22, 17, 14, 12)
_SPACING = 6  # after a paragraph
_HTML = re.compile(r"\s*+<(?:!doctype|html|head|body|h[1-6]|div|p|article|section|main|table|ul|ol)\b", re.IGNORECASE)
_COLUMN = Box(left=_MARGIN, top=_MARGIN, width=_WIDTH - 2 * _MARGIN, height=_HEIGHT - 2 * _MARGIN)


class _Pages(Canvas):
    def footer(self) -> None:
        self.set_left_margin(_MARGIN)
        self.set_right_margin(_MARGIN)
        self.set_y(-40)
        self.set_font(self.sans, size=9)
        self.set_text_color(GREY)
        self.cell(0, 12, str(self.page), align="C")


def answer(request: Mapping[str, Any], body: bytes) -> dict[str, Any]:
    """Return the PDF of Markdown or HTML, its number of pages, and characters without a font.

    {"text", "pictures": {path: base64}} → {"data", "pages", "missing", "unusable"}
    """
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    pages, rank, unusable = _Pages(_WIDTH, _HEIGHT), 0, list[str]()
    pages.c_margin = 0
    pages.set_auto_page_break(True, margin=_MARGIN)
    pages.set_margins(_MARGIN, _MARGIN)
    pages.add_page()
    previous = ""
    text = request["text"]
    is_html = _HTML.match(text) is not None
    for block in blocks_of_html(text) if is_html else blocks_of(text, has_pictures=True):
        kind = "table" if isinstance(block, SlideTable) else block.kind
        if previous == "code" != kind:
            pages.set_y(pages.get_y() + _SPACING)
        previous = kind
        if isinstance(block, SlideTable):
            pages.write_table(block, _COLUMN, 10)
            pages.set_y(pages.get_y() + 2 * _SPACING)
            continue
        if block.kind == "heading":
            size = _HEADINGS[min(block.rank, len(_HEADINGS)) - 1]
            if pages.get_y() > _MARGIN:
                pages.set_y(pages.get_y() + size * 0.6)
            if pages.get_y() + 4 * size > pages.page_break_trigger:  # a heading stays with its text
                pages.add_page()
            rank = min(block.rank, rank + 1)
            if not pages.title:
                pages.set_title(block.text)
            pages.start_section(block.text, level=rank - 1)
            pages.write_line(block, _COLUMN, size, DARK)
        else:
            _write_paragraph(pages, block, request["pictures"], unusable)
        pages.set_y(pages.get_y() + (0 if block.kind == "code" else _SPACING))
    data = bytes(pages.output())
    return {
        "data": base64.b64encode(data).decode(),
        "pages": pages.pages_count,
        "missing": "".join(pages.missing),
        "unusable": unusable,
    }


def _write_paragraph(pages: Canvas, line: SlideLine, pictures: Mapping[str, str], unusable: list[str]) -> None:
    """Write a paragraph. Its pictures come after its text, those without a file as their description."""
    runs, drawn = [], list[bytes]()
    for run in line.runs:
        if run.picture in pictures:
            try:
                with Image.open(BytesIO(base64.b64decode(pictures[run.picture]))) as picture:
                    out = BytesIO()
                    ImageOps.exif_transpose(picture).save(out, "PNG")
                    drawn.append(out.getvalue())
                continue
            except (ValueError, OSError, SyntaxError):
                unusable.append(run.picture)
        runs.append(TextRun(text=f"[{run.text or run.picture}]") if run.picture else run)
    if any(run.text.strip() for run in runs):
        pages.write_line(replace(line, runs=tuple(runs)), _COLUMN, _SIZE)
    for data in drawn:
        with Image.open(BytesIO(data)) as picture:
            scale = min(_COLUMN.width / picture.width, _COLUMN.height * 0.6 / picture.height, 0.75)
            width, height = picture.width * scale, picture.height * scale
        if pages.get_y() + height > pages.page_break_trigger:
            pages.add_page()
        pages.place_picture(
            data, Box(left=_MARGIN + (_COLUMN.width - width) / 2, top=pages.get_y(), width=width, height=height)
        )
        pages.set_y(pages.get_y() + height + _SPACING)
