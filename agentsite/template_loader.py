"""The loader of the project's own templates: they are formatted for authors and small for browsers."""

import re

from django.template import Origin
from django.template.loaders import filesystem

_IN_TAG = r"\{%[^\n]{0,500}?%\}|\{\{[^\n]{0,500}?\}\}|[^<>{]|\{(?![%{])"
_OPENING_TAG = re.compile(rf"<[a-zA-Z](?:{_IN_TAG}){{0,4000}}+>")
_LINE_BREAK = re.compile(r"(?<![^\S\n])[^\S\n]*+\n\s*+")
_BREAK_BETWEEN_WORDS = re.compile(r"(?<=[^>}\s])[^\S\n]*+\n\s*+(?=[^<{\s])")


class Loader(filesystem.Loader):
    """Django's loader of a folder, which drops line breaks and indentation of HTML."""

    def get_contents(self, origin: Origin) -> str:
        text: str = super().get_contents(origin)
        return compact(text) if origin.name.endswith(".html") else text


def compact(text: str) -> str:
    """Return a template on one line.

    A line break becomes a blank between two words and between two attributes, and nothing next to a tag. A blank
    or line break that is wanted there is written as `&#32;` or `&#10;`.
    """
    text = _OPENING_TAG.sub(lambda tag: _LINE_BREAK.sub(" ", tag[0]), text)
    text = _BREAK_BETWEEN_WORDS.sub(" ", text)
    return _LINE_BREAK.sub("", text).replace("&#32;", " ").replace("&#10;", "\n")
