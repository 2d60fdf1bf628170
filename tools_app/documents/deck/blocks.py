"""The Markdown of a slide as lines and tables, which every format draws alike."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LINKED = ("http://", "https://", "mailto:")


@dataclass(frozen=True, kw_only=True)
class TextRun:
    """Text of one style. "\\n" is a line break. The text of a picture is its description."""

    text: str
    is_bold: bool = False
    is_italic: bool = False
    is_struck: bool = False
    is_code: bool = False
    link: str = ""
    picture: str = ""  # its path


@dataclass(frozen=True, kw_only=True)
class SlideLine:
    """A paragraph, list item, heading, quotation or line of code. `level` is the depth of its list, from 0.

    An item of a numbered list has a number, one of another list has a bullet. `rank` is 1 for the largest headings.
    """

    runs: tuple[TextRun, ...]
    kind: Literal["text", "heading", "quote", "code"] = "text"
    level: int = 0
    has_bullet: bool = False
    number: int | None = None
    rank: int = 0

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)


@dataclass(frozen=True, kw_only=True)
class SlideTable:
    """A table. The first row is its head."""

    rows: tuple[tuple[tuple[TextRun, ...], ...], ...]
    alignments: tuple[str, ...]


Block = SlideLine | SlideTable


def blocks_of(markdown: str, *, has_pictures: bool = False) -> list[Block]:
    """Return the blocks of a slide's body, or of a document with pictures."""
    blocks: list[Block] = []
    numbers: list[int | None] = []  # next number of each open list, None for bullets
    quotes, item, rank = 0, SlideLine(runs=()), 0
    tokens = iter(parser(has_pictures=has_pictures).parse(markdown))
    for token in tokens:
        match token.type:
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
            case "list_item_open":
                item = SlideLine(runs=(), level=len(numbers) - 1, has_bullet=numbers[-1] is None, number=numbers[-1])
                numbers[-1] = None if numbers[-1] is None else numbers[-1] + 1
            case "blockquote_open" | "blockquote_close":
                quotes += 1 if token.type == "blockquote_open" else -1
            case "heading_open" | "heading_close":
                rank = int(token.tag[1:]) if token.type == "heading_open" else 0
            case "table_open":
                blocks.append(_table(tokens))
            case "fence" | "code_block":
                lines = token.content.rstrip("\n").split("\n")
                blocks += [SlideLine(runs=(TextRun(text=line, is_code=True),), kind="code") for line in lines]
            case "inline":
                line = item if item.has_bullet or item.number is not None else SlideLine(runs=(), level=item.level)
                kind: Literal["heading", "quote", "text"] = "heading" if rank else "quote" if quotes else "text"
                blocks.append(replace(line, runs=tuple(_runs(token)), kind=kind, rank=rank))
                item = SlideLine(runs=(), level=max(len(numbers) - 1, 0))
        if not numbers:
            item = SlideLine(runs=())
    return blocks


def _table(tokens: Iterable["Token"]) -> SlideTable:
    """Read the tokens of a table up to its end."""
    rows: list[list[tuple[TextRun, ...]]] = []
    alignments: list[str] = []
    for token in tokens:
        match token.type:
            case "table_close":
                break
            case "tr_open":
                rows.append([])
            case "th_open":
                alignments.append(str(token.attrs.get("style", "")).removeprefix("text-align:") or "left")
            case "inline":
                rows[-1].append(tuple(_runs(token)))
    return SlideTable(rows=tuple(map(tuple, rows)), alignments=tuple(alignments))


def _runs(inline: "Token") -> Iterable[TextRun]:
    style, link = TextRun(text=""), ""
    for token in inline.children or ():
        name, _, side = token.type.rpartition("_")
        is_open = side == "open"
        if name == "strong":
            style = replace(style, is_bold=is_open)
        elif name == "em":
            style = replace(style, is_italic=is_open)
        elif name == "s":
            style = replace(style, is_struck=is_open)
        elif name == "link":
            address = str(token.attrs.get("href", "")) if is_open else ""
            link = address if address.startswith(_LINKED) else ""
        elif token.type in ("softbreak", "hardbreak"):
            yield replace(style, text="\n", link=link)
        elif token.type == "image":
            yield replace(style, text=token.content, picture=str(token.attrs["src"]))
        elif token.content:
            yield replace(style, text=token.content, is_code=token.type == "code_inline", link=link)


@cache
def parser(*, has_pictures: bool = False) -> "MarkdownIt":
    """Return a parser without HTML. Pictures are left out by default: a page would load them from anywhere."""
    from markdown_it import MarkdownIt  # imported with the first deck: it takes memory

    options = {"html": False, "breaks": True}
    markdown = MarkdownIt("commonmark", options).enable("table").enable("strikethrough")
    return markdown if has_pictures else markdown.disable("image")
