"""Markdown while it streams: finished blocks are kept, only the open block is rendered again."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tasks_app.pages.markdown import PLAIN, last_paragraph, markdown, paragraphs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

EAGER_CHARS = 1_500  # characters up to which an open block is rendered again whenever it grows
GROWTH_FACTOR = 4  # a longer block is rendered again when it has grown by a quarter, so the total cost stays linear
# Signs at the end of the text whose meaning is not decided yet: a list, a rule, a fence …
_UNDECIDED = re.compile(r"(?:\A|\n)[ \t]*(?:[-=*_#`~>|+:$\\\[ \t]{1,8}|\d{1,3}[.)]?[ \t]*)\Z|\r\Z")
# Words without a meaning in Markdown, and HTML that ends with words and closing tags: more words can be appended.
_WORDS = re.compile(r"[^\x00-\x1f\x7f-\x9f\\`*_~\[\]()<>&|$/;]*")
_ENDS_WITH_WORDS = re.compile(r"[^>\s](?:\s*</(?:p|li|ul|ol|blockquote|h[1-6])>)+\s*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, kw_only=True)
class MarkdownChange:
    """A change of the shown HTML.

    `closed` goes before the open block, `open` replaces it unless None, and `tail` is appended to it.
    """

    closed: str = ""
    open: str | None = None
    tail: str = ""

    def __bool__(self) -> bool:
        return bool(self.closed or self.open is not None or self.tail)


class StreamedMarkdown:
    """A streaming text, with all HTML that is shown of it in `whole`."""

    def __init__(self, files_url: str = "") -> None:
        self._files_url = files_url
        self._closed: list[str] = []
        self._source = ""  # of the open block, as rendered
        self._open = ""
        self._fence = ""  # that began the open block and has not ended
        self._takes_words = False  # words can be appended to the open block unrendered
        self._tail: list[str] = []
        self._tail_length = 0
        self._undecided = ""

    @property
    def whole(self) -> MarkdownChange:
        return MarkdownChange(closed="".join(self._closed), open=self._open, tail="".join(self._tail))

    def add(self, text: str) -> MarkdownChange | None:
        """Add text and return the change, or None if a parser is needed: then call `render`."""
        text = self._undecided + text
        undecided = _UNDECIDED.search(text)
        cut = undecided.start() if undecided else len(text)
        text, self._undecided = text[:cut].replace("\r\n", "\n").replace("\r", "\n"), text[cut:]
        self._tail_length += len(text)
        self._tail.append(text)
        if not text or not self._is_due(text):
            return MarkdownChange(tail=text)
        source = self._source + "".join(self._tail)
        is_plain = PLAIN.fullmatch(source.rstrip(" ")) is not None
        if not is_plain:
            return None
        return self._render_blocks(source, last_paragraph(source), lambda text, _: paragraphs(text))

    def render(self) -> MarkdownChange:
        tail = "".join(self._tail)
        source = self._source + tail
        continues_line = self._source[-1:] not in ("", "\n") and "\n" not in tail
        start, self._fence = (0, "") if continues_line and not self._fence else _last_block(source)
        return self._render_blocks(
            source, start, lambda text, is_whole: markdown(text, self._files_url, is_whole=is_whole)
        )

    def _is_due(self, text: str) -> bool:
        if self._fence:
            return any(_closes_fence(line, self._fence) for line in text.split("\n"))
        if self._takes_words and _WORDS.fullmatch(text):
            return False
        return self._tail_length * GROWTH_FACTOR >= len(self._source) - EAGER_CHARS

    def _render_blocks(self, source: str, start: int, render: Callable[[str, bool], str]) -> MarkdownChange:
        """Close all blocks before `start` and render the last one. `render` gets a text and whether it is whole."""
        closed = render(source[:start], True) if source[:start].strip() else ""
        opened = source[start:]
        self._source = opened if self._fence else opened.rstrip(" ")  # HTML ignores spaces at the end of a block
        self._open = render(self._source, not self._fence)
        self._takes_words = not self._source.endswith("\n") and bool(_ENDS_WITH_WORDS.search(self._open[-200:]))
        spaces = opened[len(self._source) :]
        self._tail, self._tail_length = [spaces], 0
        self._closed.append(closed)
        return MarkdownChange(closed=closed, open=self._open, tail=spaces)


def _last_block(source: str) -> tuple[int, str]:
    """Return the position of the last block, and its fence if that is still open."""
    tokens = _structure_parser().parse(source)
    blocks = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
    if not blocks:
        return 0, ""
    lines = source.split("\n")
    first, end = blocks[-1].map or (0, 0)
    start = sum(len(line) + 1 for line in lines[:first])
    is_fence = blocks[-1].type == "fence"
    is_open = is_fence and not (end - first > 1 and _closes_fence(lines[end - 1], blocks[-1].markup))
    return start, blocks[-1].markup if is_open else ""


def _closes_fence(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return bool(match and match[1].startswith(fence) and not line[match.end() :].strip())


@cache
def _structure_parser() -> "MarkdownIt":
    from tasks_app.pages.markdown.parser import structure

    return structure().disable(["inline", "linkify"])
