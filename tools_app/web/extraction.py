"""HTML → Markdown, in a child process: 2 MB of hostile HTML keep it busy for up to 15 s, in C code."""

from collections.abc import Mapping

import lxml.html
import trafilatura
from lxml import etree
from lxml.html import HtmlElement

_LITTLE = 200  # characters
_MAX_TITLE = 300
_UNSEEN = ("script", "style", "template", "svg", "iframe", "object", "title")
_HIDDEN = etree.XPath(
    "descendant::*[not(self::body)]"  # scripts show a body that is hidden
    "[@hidden or contains(translate(@style, ' ', ''), 'display:none')"
    " or contains(translate(@style, ' ', ''), 'visibility:hidden')]"
)

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACED = {"p", "ul", "ol", "dl", "table", "section", "article", "main", "nav", "header", "footer", "form", *_HEADINGS}
_MARKERS = {"li": "- ", "dd": "  ", **_HEADINGS}
_BLOCKS = {"div", "pre", "tr", "dt", "br", "hr", "figure", "caption", "blockquote", "option", *_SPACED, *_MARKERS}
_CELLS = {"td", "th"}


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
    """A model must not read what a person would not see: instructions may be hidden there."""
    etree.strip_elements(page, *_UNSEEN, with_tail=False)
    for element in _HIDDEN(page):
        if element.getparent() is not None:
            element.drop_tree()


def outline(body: HtmlElement) -> str:
    """Headings, paragraphs, lists and table rows on lines of their own, links as [text](address)."""
    writer = _Writer()
    walk = etree.iterwalk(body, events=("start", "end"))  # no recursion: pages may be nested without end
    for event, element in walk:
        if event == "end":
            writer.close(element)
        elif element.tag == "a":
            writer.link(element)
            walk.skip_subtree()
        else:
            writer.open(element)
    writer.end_line()
    return "\n".join(writer.lines).strip()


class _Writer:
    """The lines so far, and the words of the one that is being written."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._words: list[str] = []
        self._marker = ""
        self._verbatim = False

    def open(self, element: HtmlElement) -> None:
        self._boundary(element)
        self._marker = _MARKERS.get(element.tag, self._marker)
        if element.tag == "pre":
            self.lines.append("```")
            self._verbatim = True
        if element.tag in _CELLS and element.getprevious() is not None:
            self._words.append(" | ")
        self._words.append(element.text or "")

    def close(self, element: HtmlElement) -> None:
        self._boundary(element)
        if element.tag in _MARKERS:
            self._marker = ""
        if element.tag == "pre":
            self.lines.append("```")
            self._verbatim = False
        self._words.append(element.tail or "")

    def link(self, element: HtmlElement) -> None:
        text, href = " ".join(element.text_content().split()), element.get("href", "")
        is_link = text and href.startswith(("http://", "https://"))
        self._words.append(f"[{text}]({href})" if is_link else text)

    def end_line(self) -> None:
        text = "".join(self._words)
        text = text.strip("\n") if self._verbatim else " ".join(text.split())
        if text:
            self.lines.append(self._marker + text)
            self._marker = ""
        self._words.clear()

    def _boundary(self, element: HtmlElement) -> None:
        if element.tag in _BLOCKS:
            self.end_line()
        if element.tag in _SPACED and self.lines and self.lines[-1] and not self._verbatim:
            self.lines.append("")
