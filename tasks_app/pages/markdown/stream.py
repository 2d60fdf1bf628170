"""Markdown while it streams: blocks that are finished stay as they are, only the open one is rendered again."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from tasks_app.pages.markdown import markdown
from tasks_app.pages.markdown.plain import PLAIN, last_paragraph, paragraphs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

EAGER = 1_500  # characters of an open block that is rendered again whenever it grows
GROWTH = 4  # a longer one is rendered again when it has grown by this part of itself: the cost stays linear
# At the end of what has come: signs of which nobody knows yet what they will be, a list, a line, a fence …
_UNDECIDED = re.compile(r"(?:\A|\n)[ \t]*(?:[-=*_#`~>|+:$\\\[ \t]{1,8}|\d{1,3}[.)]?[ \t]*)\Z|\r\Z")
# Words that mean themselves wherever they go on with a block, and a block that ends with such; its closing tags.
_WORDS = re.compile(r"[^\x00-\x1f\x7f-\x9f\\`*_~\[\]()<>&|$/;]*")
_ENDS_WITH_WORDS = re.compile(r"[^>\s](?:\s*</(?:p|li|ul|ol|blockquote|h[1-6])>)+\s*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, kw_only=True)
class Change:
    """`closed` goes before what is open, `open` in its place unless it is None, `tail` behind its last character."""

    closed: str = ""
    open: str | None = None
    tail: str = ""

    def __bool__(self) -> bool:
        return bool(self.closed or self.open is not None or self.tail)


class StreamedMarkdown:
    """`whole` is all of it, as it is shown."""

    def __init__(self, files_url: str = "") -> None:
        self._files_url = files_url
        self._closed: list[str] = []
        self._source = ""  # of what is open, as it was rendered
        self._open = ""
        self._fence = ""  # that has begun the open block, and not ended it
        self._takes_words = False  # the open block: they are shown behind it as they come
        self._tail: list[str] = []
        self._tail_length = 0
        self._undecided = ""

    @property
    def whole(self) -> Change:
        return Change(closed="".join(self._closed), open=self._open, tail="".join(self._tail))

    def add(self, text: str) -> Change | None:
        """None where it takes a parser, and its time, to know what has changed: `rendered` says it then."""
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
        """Its last block begins at `start`; `render` also hears whether the text is whole."""
        closed = render(source[:start], True) if source[:start].strip() else ""
        opened = source[start:]
        self._source = opened if self._fence else opened.rstrip(" ")  # which HTML does not have at the end of a block
        self._open = render(self._source, not self._fence)
        self._takes_words = not self._source.endswith("\n") and bool(_ENDS_WITH_WORDS.search(self._open[-200:]))
        spaces = opened[len(self._source) :]
        self._tail, self._tail_length = [spaces], 0
        self._closed.append(closed)
        return Change(closed=closed, open=self._open, tail=spaces)


def _last_block(source: str) -> tuple[int, str]:
    """Where it begins, and the fence that it is still behind."""
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
