"""A deck as a PDF, drawn at the same places as its PowerPoint file."""

from collections.abc import Sequence

from tools_app.documents.deck.blocks import SlideLine, SlideTable, TextRun
from tools_app.documents.deck.canvas import DARK, GREY, LINK, Canvas
from tools_app.documents.deck.chart import svg
from tools_app.documents.deck.deck import Slide
from tools_app.documents.deck.layout import HEADING_SIZE, HEIGHT, MARGIN, TITLE, WIDTH, Box, Layout

_COVER_TITLE = Box(left=80, top=210, width=WIDTH - 160, height=200)
_SPACING = 0.45  # of the font size, after a paragraph


def pdf(title: str, slides: Sequence[tuple[Slide, Layout]], pictures: dict[int, bytes]) -> tuple[bytes, str]:
    """Return the file, a page for the cover and each slide, and the characters that no font has."""
    canvas = Canvas(WIDTH, HEIGHT)
    canvas.set_auto_page_break(False)
    canvas.set_title(title)
    canvas.c_margin = 0
    canvas.add_page()
    canvas.set_fill_color(DARK)
    canvas.rect(0, 0, WIDTH, HEIGHT, style="F")
    canvas.set_y(_COVER_TITLE.top)
    canvas.write_line(_heading(title), _COVER_TITLE, 40, (255, 255, 255))
    for position, (slide, layout) in enumerate(slides):
        _add_slide(canvas, slide, layout, pictures.get(position), position + 1)
    return bytes(canvas.output()), "".join(canvas.missing)


def _heading(text: str) -> SlideLine:
    return SlideLine(runs=(TextRun(text=text),), kind="heading")


def _add_slide(canvas: Canvas, slide: Slide, layout: Layout, picture: bytes | None, number: int) -> None:
    canvas.add_page()
    canvas.set_y(TITLE.top + 18)
    canvas.write_line(_heading(slide.title), TITLE, layout.title_size, DARK)
    canvas.set_fill_color(LINK)
    canvas.rect(MARGIN, TITLE.top + TITLE.height + 4, 60, 3, style="F")
    for group in layout.groups:
        canvas.set_y(group.box.top)
        for block in group.blocks:
            if isinstance(block, SlideTable):
                canvas.write_table(block, group.box, layout.size)
                continue
            size = layout.size * (HEADING_SIZE if block.kind == "heading" else 1)
            canvas.write_line(block, group.box, size)
            canvas.set_y(canvas.get_y() + (0 if block.kind == "code" else layout.size * _SPACING))
    if picture and layout.picture:
        canvas.place_picture(picture, layout.picture)
    elif slide.chart and layout.picture:
        drawing = svg(slide.chart)
        start = drawing.index('font-family="')
        end = drawing.index('"', start + len('font-family="')) + 1
        canvas.place_picture(f'{drawing[:start]}font-family="{canvas.sans}"{drawing[end:]}'.encode(), layout.picture)
    canvas.set_font(canvas.sans, size=12)
    canvas.set_text_color(GREY)
    canvas.set_xy(WIDTH - MARGIN - 80, HEIGHT - 32)
    canvas.cell(80, 20, str(number), align="R")
