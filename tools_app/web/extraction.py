"""HTML → Markdown. It runs in a child process (`extractor`)."""

from collections.abc import Mapping

import lxml.html
import trafilatura
from lxml import etree
from lxml.html import HtmlElement

from tools_app.web.outline import outline

_LITTLE = 200  # characters
_MAX_TITLE = 300
_UNSEEN = ("script", "style", "template", "svg", "iframe", "object", "title")
_HIDDEN = etree.XPath(
    "descendant::*[not(self::body)]"  # scripts show a body that is hidden
    "[@hidden or contains(translate(@style, ' ', ''), 'display:none')"
    " or contains(translate(@style, ' ', ''), 'visibility:hidden')]"
)


def answer(request: Mapping[str, str], html: bytes) -> dict[str, str]:
    """The main text of the page where it has one, otherwise all of its text. `html` is in UTF-8."""
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        page = lxml.html.document_fromstring(html, parser=parser)
    except etree.ParserError:  # nothing in it
        return {"title": "", "text": ""}
    title = " ".join((page.findtext(".//title") or "").split())[:_MAX_TITLE]
    page.make_links_absolute(request["url"], handle_failures="ignore")
    _drop_unseen(page)
    return {"title": title, "text": _text(page)}


def _text(page: HtmlElement) -> str:
    everything = outline(page)
    listing = _mostly_links(page)
    main = trafilatura.extract(
        page, output_format="markdown", include_links=True, include_tables=True, include_comments=False
    )
    if not main or len(main) < _LITTLE:
        return everything
    # It reduces a listing to bare words: the links, which are what a listing is for, are lost.
    return everything if listing and "](" not in main else main


def _mostly_links(page: HtmlElement) -> bool:
    in_links = sum(_size(link) for link in page.iter("a"))
    return in_links > _size(page) / 2


def _size(element: HtmlElement) -> int:
    return sum(len(word) for word in element.text_content().split())


def _drop_unseen(page: HtmlElement) -> None:
    """What a person would not see, a model should not read: it is where instructions are hidden."""
    etree.strip_elements(page, *_UNSEEN, with_tail=False)
    for element in _HIDDEN(page):
        if element.getparent() is not None:
            element.drop_tree()
