"""The words of a Markdown text in one line, for lists and summaries."""

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

from tasks_app.pages.markdown.parser import structure

_OF_NAMES = re.compile(r"[A-Za-z0-9]\w*|[^_\n]*+_.*", re.ASCII)  # text between underscores that belong to a name
_SOURCE = ("fence", "code_block", "formula_block")
_BREAKS = ("softbreak", "hardbreak")
_parser = structure()


def words(text: str) -> str:
    """Return the words without Markdown marks. Names such as `__init__` keep their underscores."""
    blocks = _parser.parse(text)
    found = ("".join(_inline(block.children)) if block.children else _content(block) for block in blocks)
    return " ".join(" ".join(found).split())


def _content(block: Token) -> str:
    return block.content if block.type in _SOURCE else ""


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    for number, token in enumerate(tokens):
        if token.type in _BREAKS:
            yield " "
        elif token.markup in ("_", "__"):
            beside = tokens[number + 1 : number + 2] if token.nesting > 0 else tokens[number - 1 : number]
            yield token.markup if beside and _OF_NAMES.fullmatch(beside[0].content) else ""
        else:
            yield token.content
