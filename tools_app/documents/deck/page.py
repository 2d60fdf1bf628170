"""A deck as one HTML file without scripts and external resources. Printed, each slide is a page."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tools_app.documents.deck.blocks import parser
from tools_app.documents.deck.chart import svg
from tools_app.documents.deck.deck import Slide
from tools_app.documents.deck.layout import HEIGHT, TITLE, WIDTH, Box, Layout

_STYLESHEET = Path(__file__).with_name("style.css")
_CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, slides: Sequence[tuple[Slide, Layout]], pictures: dict[int, bytes]) -> bytes:
    """Return the HTML of the deck. All text is escaped, and nothing can be loaded."""
    title = escape(title)
    sections = [f'<section class="cover"><h1>{title}</h1></section>']
    sections += [
        _section(slide, layout, pictures.get(position), position + 1) for position, (slide, layout) in enumerate(slides)
    ]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_SECURITY_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>\n<style>\n{_STYLESHEET.read_text()}</style></head><body>",
            *sections,
            "</body></html>\n",
        ]
    ).encode()


def _section(slide: Slide, layout: Layout, picture: bytes | None, number: int) -> str:
    shown = ""
    if picture and slide.image and layout.picture:
        source = f"data:{slide.image.media_type};base64,{base64.b64encode(picture).decode()}"
        shown = f'<img src="{source}" alt="{escape(slide.image.name)}" style="{_place(layout.picture)}">'
    elif slide.chart and layout.picture:
        shown = f'<div class="chart" style="{_place(layout.picture)}">{svg(slide.chart)}</div>'
    notes = f"<aside>{escape(slide.notes)}</aside>" if slide.notes else ""
    return (
        f'<section><h2 style="--size: {layout.title_size}; {_place(TITLE)}">{escape(slide.title)}</h2>\n'
        f'<div class="body" style="--size: {layout.size}; {_place(layout.text)}">{parser().render(slide.body)}</div>'
        f'{shown}{notes}<span class="number">{number}</span></section>'
    )


def _place(box: Box) -> str:
    left, width = (f"{value / WIDTH:.3%}" for value in (box.left, box.width))
    top, height = (f"{value / HEIGHT:.3%}" for value in (box.top, box.height))
    return f"left: {left}; top: {top}; width: {width}; height: {height}"
