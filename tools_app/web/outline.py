"""All the text of an HTML page in simple Markdown: it misses nothing and judges nothing."""

from lxml import etree
from lxml.html import HtmlElement

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACED = {"p", "ul", "ol", "dl", "table", "section", "article", "main", "nav", "header", "footer", "form", *_HEADINGS}
_MARKERS = {"li": "- ", "dd": "  ", **_HEADINGS}
_BLOCKS = {"div", "pre", "tr", "dt", "br", "hr", "figure", "caption", "blockquote", "option", *_SPACED, *_MARKERS}
_CELLS = {"td", "th"}


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
