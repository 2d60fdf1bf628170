"""The HTML reader: headings, paragraphs, lists and table rows on their own lines, links as [text](address)."""

import lxml.html
from lxml import etree
from lxml.html import HtmlElement

from tools_app.documents.document import ParsedDocument, pages_of
from tools_app.files.encoding import decode_text

_MAX_TITLE = 300
_INVISIBLE_TAGS = ("script", "style", "template", "svg", "iframe", "object", "title")
_HIDDEN = etree.XPath(
    "descendant::*[not(self::body)]"  # scripts reveal a hidden body
    "[@hidden or contains(translate(@style, ' ', ''), 'display:none')"
    " or contains(translate(@style, ' ', ''), 'visibility:hidden')]"
)

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACED_TAGS = {"p", "ul", "ol", "dl", "table", "section", "article", "main", "nav", "header", "footer", "form"}
_SPACED_TAGS |= _HEADINGS.keys()
_LINE_PREFIXES = {"li": "- ", "dd": "  ", **_HEADINGS}
_BLOCK_TAGS = {"div", "pre", "tr", "dt", "br", "hr", "figure", "caption", "blockquote", "option"}
_BLOCK_TAGS |= _SPACED_TAGS | _LINE_PREFIXES.keys()
_CELL_TAGS = {"td", "th"}


def open_document(body: bytes) -> ParsedDocument:
    title, page = parsed(decode_text(body))
    return ParsedDocument(kind="HTML page", unit="page", title=title, parts=pages_of([[outline(page)]], "page"))


def parsed(html: str) -> tuple[str, HtmlElement]:
    """Return the title, and the page without hidden elements.

    Raises: etree.ParserError for an empty page.
    """
    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    page = lxml.html.document_fromstring(html.encode(errors="replace"), parser=parser)
    title = " ".join((page.findtext(".//title") or "").split())[:_MAX_TITLE]
    _drop_invisible(page)
    return title, page


def _drop_invisible(page: HtmlElement) -> None:
    """Remove elements that a person would not see: they can hide instructions to the model."""
    etree.strip_elements(page, *_INVISIBLE_TAGS, with_tail=False)
    for element in _HIDDEN(page):
        if element.getparent() is not None:
            element.drop_tree()


def outline(body: HtmlElement) -> str:
    """Return headings, paragraphs, lists and table rows on their own lines, links as [text](address)."""
    writer = _OutlineWriter()
    walk = etree.iterwalk(body, events=("start", "end"))  # no recursion: the nesting of pages is unlimited
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


class _OutlineWriter:
    """The finished lines, and the words of the current one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._words: list[str] = []
        self._prefix = ""
        self._verbatim = False

    def open(self, element: HtmlElement) -> None:
        self._end_block(element)
        self._prefix = _LINE_PREFIXES.get(element.tag, self._prefix)
        if element.tag == "pre":
            self.lines.append("```")
            self._verbatim = True
        if element.tag in _CELL_TAGS and element.getprevious() is not None:
            self._words.append(" | ")
        self._words.append(element.text or "")

    def close(self, element: HtmlElement) -> None:
        self._end_block(element)
        if element.tag in _LINE_PREFIXES:
            self._prefix = ""
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
            self.lines.append(self._prefix + text)
            self._prefix = ""
        self._words.clear()

    def _end_block(self, element: HtmlElement) -> None:
        if element.tag in _BLOCK_TAGS:
            self.end_line()
        if element.tag in _SPACED_TAGS and self.lines and self.lines[-1] and not self._verbatim:
            self.lines.append("")
