"""HTML as the lines and tables that a PDF shows."""

from dataclasses import replace

from lxml import etree
from lxml.html import HtmlElement

from tools_app.documents.deck.blocks import Block, SlideLine, SlideTable, TextRun
from tools_app.documents.html import parsed

_LINKED = ("http://", "https://", "mailto:")
_STYLES = {
    **dict.fromkeys(("b", "strong"), "is_bold"),
    **dict.fromkeys(("i", "em"), "is_italic"),
    **dict.fromkeys(("s", "del", "strike"), "is_struck"),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), "is_code"),
}
_INLINE = _STYLES.keys() | {"a", "span", "img", "br", "u", "small", "sub", "sup", "mark", "font", "abbr", "cite"}
_HEADINGS = {f"h{rank}": rank for rank in range(1, 7)}


def blocks_of_html(html: str) -> list[Block]:
    """Return the blocks of a page without hidden elements."""
    _, page = parsed(html)
    reader = _BlockReader()
    for event, element in etree.iterwalk(page, events=("start", "end")):  # no recursion: the nesting is unlimited
        (reader.open if event == "start" else reader.close)(element)
    reader.end_line()
    return reader.blocks


class _BlockReader:
    """The finished blocks, and the runs of the current line or cell."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._runs: list[TextRun] = []
        self._open_tags: list[str] = []
        self._links: list[str] = []
        self._numbers: list[int | None] = []  # next number of each open list, None for bullets
        self._item: SlideLine | None = None  # of the current item, until its first line
        self._rows: list[list[tuple[TextRun, ...]]] | None = None

    def open(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag not in _INLINE:
            self.end_line()
        self._open_tags.append(tag)
        match tag:
            case "ul" | "menu":
                self._numbers.append(None)
            case "ol":
                start = element.get("start", "1")
                self._numbers.append(int(start) if start.isdecimal() and len(start) < 7 else 1)
            case "li":
                number = self._numbers[-1] if self._numbers else None
                level = max(len(self._numbers) - 1, 0)
                self._item = SlideLine(runs=(), level=level, has_bullet=number is None, number=number)
                if number is not None:
                    self._numbers[-1] = number + 1
            case "table" if self._rows is None:
                self._rows = []
            case "tr" if self._rows is not None:
                self._rows.append([])
            case "a":
                href = element.get("href", "")
                self._links.append(href if href.startswith(_LINKED) else "")
            case "br":
                self._runs.append(TextRun(text="\n"))
            case "img":
                self._runs.append(TextRun(text=element.get("alt", ""), picture=element.get("src", "")))
        self._add(element.text)

    def close(self, element: HtmlElement) -> None:
        tag = element.tag
        if tag in ("td", "th") and self._rows:
            self._rows[-1].append(self._taken_runs())
        elif tag not in _INLINE:
            self.end_line()
        self._open_tags.pop()
        if tag in ("ul", "ol", "menu") and self._numbers:
            self._numbers.pop()
        elif tag == "a":
            self._links.pop()
        elif tag == "li":
            self._item = None
        elif tag == "table" and "table" not in self._open_tags and self._rows is not None:
            self._end_table(self._rows)
            self._rows = None
        self._add(element.tail)

    def end_line(self) -> None:
        """Append the current line. Lines within a cell are joined."""
        if "td" in self._open_tags or "th" in self._open_tags:
            if self._runs:
                self._runs.append(TextRun(text=" "))
            return
        if not (runs := self._taken_runs()):
            return
        if "pre" in self._open_tags:
            lines = "".join(run.text for run in runs).strip("\n").split("\n")
            self.blocks += [SlideLine(runs=(TextRun(text=line, is_code=True),), kind="code") for line in lines]
            return
        rank = next((_HEADINGS[tag] for tag in reversed(self._open_tags) if tag in _HEADINGS), 0)
        line = self._item or SlideLine(runs=(), level=max(len(self._numbers) - 1, 0))
        self._item = None
        if rank:
            line = replace(line, kind="heading", rank=rank, level=0)
        elif "blockquote" in self._open_tags:
            line = replace(line, kind="quote")
        self.blocks.append(replace(line, runs=runs))

    def _add(self, text: str | None) -> None:
        if not text:
            return
        if "pre" not in self._open_tags:
            begin, end = " " * text[0].isspace(), " " * text[-1].isspace()
            text = begin + " ".join(text.split()) + (end if text.strip() else "")
            if not text.strip() and not self._runs:
                return
        styles = {_STYLES[tag] for tag in self._open_tags if tag in _STYLES}
        self._runs.append(
            TextRun(
                text=text,
                is_bold="is_bold" in styles,
                is_italic="is_italic" in styles,
                is_struck="is_struck" in styles,
                is_code="is_code" in styles,
                link=self._links[-1] if self._links else "",
            )
        )

    def _taken_runs(self) -> tuple[TextRun, ...]:
        """Return the runs of the current line without spaces at its begin and end."""
        runs, self._runs = self._runs, []
        if "pre" not in self._open_tags and runs:
            runs[0] = replace(runs[0], text=runs[0].text.lstrip())
            runs[-1] = replace(runs[-1], text=runs[-1].text.rstrip())
        return tuple(run for run in runs if run.text or run.picture)

    def _end_table(self, rows: list[list[tuple[TextRun, ...]]]) -> None:
        rows = [row for row in rows if row]
        if rows:
            columns = max(map(len, rows))
            padded = tuple(tuple(row) + ((),) * (columns - len(row)) for row in rows)
            self.blocks.append(SlideTable(rows=padded, alignments=("left",) * columns))
