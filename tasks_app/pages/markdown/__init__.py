"""Markdown as safe HTML: rendered, then sanitised by an allow list."""

import re

from django.utils.safestring import SafeString, mark_safe

MAX_PARAGRAPH_CHARS = 2_000  # characters of a paragraph that `first_words` reads
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
# Words and signs without a meaning in Markdown, HTML or URLs. No line begins like a list item. A colon
# ends a word or is between digits.
_SIGNS = r"[^\s:\x00-\x1f\x7f-\x9f\ud800-\udfff\\`*_~[\]<>{}&|$^#+=]++"
_WORD = rf"{_SIGNS}(?:(?<=\d):{_SIGNS})*+:?"
PLAIN = re.compile(rf"(?:(?![-\d]){_WORD}(?: ++{_WORD})*+(?:\n++|\Z))+")
_GAP = re.compile(r"\n{2,}")


def markdown(text: str, files_url: str = "", *, is_whole: bool = True) -> SafeString:
    """Return the HTML of `text`. Relative links and pictures are files of the workspace below `files_url`.

    Raw HTML is shown as text. Links lead to http, https, mailto and workspace files only, and pictures to workspace
    files only. If the text is not whole, its last code block is neither highlighted nor folded.
    """
    if PLAIN.fullmatch(text):
        return SafeString(paragraphs(text))
    from tasks_app.pages.markdown import parser, sanitizer  # imported on first use: they take 5 MB

    html = parser.render(text, files_url, is_whole=is_whole)
    return mark_safe(sanitizer.sanitised(html, files_url))  # noqa: S308  sanitised on this line


def first_words(text: str) -> str:
    """Return the first paragraph in one line, without Markdown marks."""
    paragraph = text.strip().partition("\n\n")[0][:MAX_PARAGRAPH_CHARS]
    if PLAIN.fullmatch(paragraph):
        return " ".join(paragraph.split())
    from tasks_app.pages.markdown import parser

    return parser.words(paragraph)


def paragraphs(text: str) -> str:
    """Return the HTML of a plain text."""
    return "".join(f'<p dir="auto">{paragraph}</p>\n' for paragraph in _GAP.split(text.rstrip("\n")))


def last_paragraph(text: str) -> int:
    """Return the position of the last paragraph of a plain text."""
    before, gap, _ = text.rstrip("\n").rpartition("\n\n")
    return len(before + gap)
