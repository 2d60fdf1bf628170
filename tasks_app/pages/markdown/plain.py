"""Plain text without Markdown, as most texts are: it needs neither a parser nor a sanitiser."""

import re

# Words and signs without a meaning in Markdown, HTML or URLs. No line begins like a list item. A colon
# ends a word or is between digits.
_SIGNS = r"[^\s:\x00-\x1f\x7f-\x9f\ud800-\udfff\\`*_~[\]<>{}&|$^#+=]++"
_WORD = rf"{_SIGNS}(?:(?<=\d):{_SIGNS})*+:?"
PLAIN = re.compile(rf"(?:(?![-\d]){_WORD}(?: ++{_WORD})*+(?:\n++|\Z))+")
_GAP = re.compile(r"\n{2,}")


def paragraphs(text: str) -> str:
    """Return the HTML of a plain text."""
    return "".join(f'<p dir="auto">{one}</p>\n' for one in _GAP.split(text.rstrip("\n")))


def last_paragraph(text: str) -> int:
    """Return the position of the last paragraph of a plain text."""
    before, gap, _ = text.rstrip("\n").rpartition("\n\n")
    return len(before + gap)
