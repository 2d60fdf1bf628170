"""A deck as one HTML file without scripts and external resources. Printed, each slide is a page."""

from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_STYLESHEET = Path(__file__).with_name("style.css")
_CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True, kw_only=True)
class Image:
    """A picture from the workspace. `data` is base64."""

    name: str
    media_type: str
    data: str


@dataclass(frozen=True, kw_only=True)
class Slide:
    """A slide. `body` is Markdown."""

    title: str
    body: str = ""
    notes: str = ""
    image: Image | None = None


@dataclass(frozen=True, kw_only=True)
class Deck:
    title: str
    slides: tuple[Slide, ...]


def page(deck: Deck) -> str:
    """Return the HTML of the deck. All text is escaped, and nothing can be loaded."""
    title, number = escape(deck.title), len(deck.slides)
    sections = [f'<section class="cover"><h1>{title}</h1></section>']
    sections += [_section(slide, f"{position} / {number}") for position, slide in enumerate(deck.slides, 1)]
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_SECURITY_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>\n<style>\n{_STYLESHEET.read_text()}</style></head><body>",
            *sections,
            "</body></html>\n",
        ]
    )


def _section(slide: Slide, number: str) -> str:
    image = slide.image
    picture = f'<img src="data:{image.media_type};base64,{image.data}" alt="{escape(image.name)}">' if image else ""
    notes = f"<aside>{escape(slide.notes)}</aside>" if slide.notes else ""
    return (
        f'<section class="{"with-image" if image else "plain"}"><h2>{escape(slide.title)}</h2>\n'
        f'<div class="body">{_markdown().render(slide.body)}</div>{picture}{notes}<span class="number">{number}</span>'
        "</section>"
    )


@cache
def _markdown() -> "MarkdownIt":
    """Return a parser without HTML and without images, which could be loaded from anywhere."""
    from markdown_it import MarkdownIt  # imported with the first deck: it takes memory

    return MarkdownIt("commonmark", {"html": False}).enable("table").enable("strikethrough").disable("image")
