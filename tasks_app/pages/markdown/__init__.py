"""Markdown → HTML that can do no harm: rendered first, sanitised last, by an allow list."""

from django.utils.safestring import SafeString, mark_safe

from tasks_app.pages.markdown.plain import PLAIN, paragraphs

LONGEST_PARAGRAPH = 2_000  # characters that are read of one, for a line
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def markdown(text: str, files_url: str = "", *, is_whole: bool = True) -> SafeString:
    """The HTML of `text`. Relative links and pictures are files of the workspace below `files_url`, where one is given.

    Raw HTML is shown as text; links go to http, https, mailto and to workspace files; pictures come from nowhere else.
    Of a text that is not whole yet, the last block of code stays as it is: neither coloured nor folded.
    """
    if PLAIN.fullmatch(text):
        return SafeString(paragraphs(text))
    from tasks_app.pages.markdown import parser, sanitizer  # not before the first text: they take 5 MB

    html = parser.rendered(text, files_url, is_whole=is_whole)
    return mark_safe(sanitizer.sanitised(html, files_url))  # noqa: S308  sanitised on this very line


def first_words(text: str) -> str:
    """Return the words of the first paragraph in one line, without what marks them up."""
    paragraph = text.strip().partition("\n\n")[0][:LONGEST_PARAGRAPH]
    if PLAIN.fullmatch(paragraph):
        return " ".join(paragraph.split())
    from tasks_app.pages.markdown import words

    return words.words(paragraph)


__all__ = ["PICTURES", "first_words", "markdown"]
