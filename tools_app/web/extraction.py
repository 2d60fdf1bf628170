"""Extraction of a web page's main text, in a child process: 2 MB of hostile HTML take up to 15 s in C code."""

from collections.abc import Mapping

import trafilatura
from lxml import etree
from lxml.html import HtmlElement

from tools_app.documents.html import outline, parsed

_MIN_MAIN_TEXT = 200  # characters


def answer(request: Mapping[str, str], html: bytes) -> dict[str, str]:
    """Return the main text of a page, or its entire text if there is no main part. `html` is UTF-8."""
    try:
        title, page = parsed(html.decode())
    except etree.ParserError:  # an empty page
        return {"title": "", "text": ""}
    page.make_links_absolute(request["url"], handle_failures="ignore")
    return {"title": title, "text": _text(page)}


def _text(page: HtmlElement) -> str:
    everything = outline(page)
    is_listing = sum(_text_length(link) for link in page.iter("a")) > _text_length(page) / 2
    main = trafilatura.extract(
        page, output_format="markdown", include_links=True, include_tables=True, include_comments=False
    )
    if not main or len(main) < _MIN_MAIN_TEXT:
        return everything
    # trafilatura reduces a listing to bare words and drops the links, which are its purpose.
    return everything if is_listing and "](" not in main else main


def _text_length(element: HtmlElement) -> int:
    return sum(len(word) for word in element.text_content().split())
