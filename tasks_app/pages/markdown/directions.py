"""Which way each block is read: by its words, which the browser looks at. For what holds blocks, we do."""

import unicodedata

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_BLOCKS = ("paragraph_open", "heading_open", "th_open", "td_open")
_HOLDERS = ("bullet_list_open", "ordered_list_open", "blockquote_open", "table_open")
_TO_THE_RIGHT, _TO_THE_LEFT = ("L",), ("R", "AL")


def set_directions(state: StateCore) -> None:
    """`dir=auto` of a list does not look into blocks that have a `dir` themselves, so its own is said outright."""
    reads_left = False
    for token in reversed(state.tokens):
        if token.type == "inline" and (side := _side(token)):
            reads_left = side in _TO_THE_LEFT
        elif token.type in _BLOCKS:
            token.attrSet("dir", "auto")
        elif token.type in _HOLDERS:
            token.attrSet("dir", "rtl" if reads_left else "auto")


def _side(inline: Token) -> str:
    """The direction of the first letter; empty without any."""
    sides = map(unicodedata.bidirectional, inline.content)
    return next((side for side in sides if side in _TO_THE_RIGHT + _TO_THE_LEFT), "")
