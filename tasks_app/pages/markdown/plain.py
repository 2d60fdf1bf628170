"""Text that is nothing but words, as most of what is said: it needs neither a parser nor a sanitiser."""

import re

# Words and signs that mean nothing in Markdown, HTML or addresses, in lines and paragraphs. A line begins as no list
# does; a colon ends a word, or stands between digits.
_SIGNS = r"[^\s:\x00-\x1f\x7f-\x9f\ud800-\udfff\\`*_~[\]<>{}&|$^#+=]++"
_WORD = rf"{_SIGNS}(?:(?<=\d):{_SIGNS})*+:?"
PLAIN = re.compile(rf"(?:(?![-\d]){_WORD}(?: ++{_WORD})*+(?:\n++|\Z))+")
_GAP = re.compile(r"\n{2,}")


def paragraphs(text: str) -> str:
    """The HTML of a text that is plain."""
    return "".join(f'<p dir="auto">{one}</p>\n' for one in _GAP.split(text.rstrip("\n")))


def last_paragraph(text: str) -> int:
    """Where it begins, in a text that is plain."""
    before, gap, _ = text.rstrip("\n").rpartition("\n\n")
    return len(before + gap)
