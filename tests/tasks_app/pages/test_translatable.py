"""Every visible text in the templates is marked for translation."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings
from django.template.base import Lexer, Token, TokenType

TEMPLATES = Path(settings.BASE_DIR) / "templates"
LEFT_OUT = TEMPLATES / "admin"  # texts of the operator
NAMES = re.compile(r"agentsite|ChatGPT|Open WebUI|LibreChat|Markdown|JSON|REST|http://sandbox|\bms\b")
SHOWN = {"title", "placeholder", "aria-label", "alt", "hx-confirm", "data-yes", "data-refused"}
LETTERS = re.compile(r"[^\W\d_]")
BARE = re.compile(r"""\|pluralize|(?:\|default:|\b(?:words|placeholder|text)=)["']\w""")  # texts within template tags


class Texts(HTMLParser):
    """A parser that collects a page's own texts, including visible attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[int] = []
        self.tag = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tag = tag
        for name, value in attrs:
            if name in SHOWN:
                self._note(value or "")

    def handle_endtag(self, tag: str) -> None:
        self.tag = ""

    def handle_data(self, data: str) -> None:
        if self.tag not in ("code", "kbd", "style"):
            self._note(data)

    def _note(self, text: str) -> None:
        if letter := LETTERS.search(NAMES.sub("", text)):
            self.lines.append(self.getpos()[0] + text.count("\n", 0, letter.start()))


def without_tags(tokens: list[Token]) -> Iterator[str]:
    """Return the template's HTML, with white space instead of template tags and the texts that they
    translate or hide.
    """
    until = ""
    for token in tokens:
        word = token.contents.split(" ")[0] if token.token_type is TokenType.BLOCK else ""
        if token.token_type is TokenType.TEXT and not until:
            yield token.contents
        else:
            yield " " + "\n" * token.contents.count("\n")
        if word == "blocktranslate" or token.contents == "block body_class":
            until = f"end{word}"
        elif word == until:
            until = ""


def unmarked(source: str) -> list[int]:
    tokens = Lexer(source).tokenize()
    bare = [t.lineno for t in tokens if t.token_type is not TokenType.TEXT and BARE.search(t.contents)]
    return sorted([*bare, *Texts("".join(without_tags(tokens))).lines])


def test_templates_mark_every_text_for_translation() -> None:
    files = [file for file in sorted(TEMPLATES.rglob("*.html")) if LEFT_OUT not in file.parents]
    found = [f"{f.relative_to(TEMPLATES)}:{n}" for f in files for n in unmarked(f.read_text())]
    assert not found, "outside of translate tags:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    ["<p>Hello</p>", '<p title="Hi {{ x }}">', "{{ n }} step{{ n|pluralize }}", '{% include "a" with words="Hi" %}'],
)
def test_unmarked_text_is_found(source: str) -> None:
    assert set(unmarked("\n" + source)) == {2}
