"""Markdown while it streams: finished blocks are kept, only the open block is rendered again."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tasks_app.pages.markdown import PLAIN, last_paragraph, markdown, paragraphs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

EAGER = 1_500  # characters up to which an open block is rendered again whenever it grows
GROWTH = 4  # a longer block is rendered again when it has grown by a quarter, so the total cost stays linear
# Signs at the end of the text whose meaning is not decided yet: a list, a rule, a fence …
_UNDECIDED = re.compile(r"(?:\A|\n)[ \t]*(?:[-=*_#`~>|+:$\\\[ \t]{1,8}|\d{1,3}[.)]?[ \t]*)\Z|\r\Z")
# Words without a meaning in Markdown, and HTML that ends with words and closing tags: more words can be appended.
_WORDS = re.compile(r"[^\x00-\x1f\x7f-\x9f\\`*_~\[\]()<>&|$/;]*")
_ENDS_WITH_WORDS = re.compile(r"[^>\s](?:\s*</(?:p|li|ul|ol|blockquote|h[1-6])>)+\s*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, kw_only=True)
class Change:
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
    def whole(self) -> Change:
        return Change(closed="".join(self._closed), open=self._open, tail="".join(self._tail))

    def add(self, text: str) -> Change | None:
        """Add text and return the change, or None if a parser is needed: then call `rendered`."""
        text = self._undecided + text
        undecided = _UNDECIDED.search(text)
        cut = undecided.start() if undecided else len(text)
        text, self._undecided = text[:cut].replace("\r\n", "\n").replace("\r", "\n"), text[cut:]
        self._tail_length += len(text)
        self._tail.append(text)
        if not text or not self._is_due(text):
            return Change(tail=text)
        source = self._source + "".join(self._tail)
        is_plain = PLAIN.fullmatch(source.rstrip(" ")) is not None
        return self._shown(source, last_paragraph(source), lambda text, _: paragraphs(text)) if is_plain else None

    def rendered(self) -> Change:
        tail = "".join(self._tail)
        source, is_same_line = self._source + tail, self._source[-1:] not in ("", "\n") and "\n" not in tail
        start, self._fence = (0, "") if is_same_line and not self._fence else _last_block(source)
        return self._shown(source, start, lambda text, is_whole: markdown(text, self._files_url, is_whole=is_whole))

    def _is_due(self, text: str) -> bool:
        if self._fence:
            return any(_ends(line, self._fence) for line in text.split("\n"))
        if self._takes_words and _WORDS.fullmatch(text):
            return False
        return self._tail_length * GROWTH >= len(self._source) - EAGER

    def _shown(self, source: str, start: int, render: Callable[[str, bool], str]) -> Change:
        """Close all blocks before `start` and render the last one. `render` gets a text and whether it is whole."""
        closed = render(source[:start], True) if source[:start].strip() else ""
        opened = source[start:]
        self._source = opened if self._fence else opened.rstrip(" ")  # HTML ignores spaces at the end of a block
        self._open = render(self._source, not self._fence)
        self._takes_words = not self._source.endswith("\n") and bool(_ENDS_WITH_WORDS.search(self._open[-200:]))
        spaces = opened[len(self._source) :]
        self._tail, self._tail_length = [spaces], 0
        self._closed.append(closed)
        return Change(closed=closed, open=self._open, tail=spaces)


def _last_block(source: str) -> tuple[int, str]:
    """Return the position of the last block, and its fence if that is still open."""
    blocks = [token for token in _structure().parse(source) if token.level == 0 and token.nesting >= 0 and token.map]
    if not blocks:
        return 0, ""
    lines = source.split("\n")
    first, behind = blocks[-1].map or (0, 0)
    start = sum(len(line) + 1 for line in lines[:first])
    is_fence = blocks[-1].type == "fence"
    is_open = is_fence and not (behind - first > 1 and _ends(lines[behind - 1], blocks[-1].markup))
    return start, blocks[-1].markup if is_open else ""


def _ends(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return bool(found and found[1].startswith(fence) and not line[found.end() :].strip())


@cache
def _structure() -> "MarkdownIt":
    from tasks_app.pages.markdown.parser import structure

    return structure().disable(["inline", "linkify"])
