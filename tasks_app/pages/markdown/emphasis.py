"""Emphasis next to Chinese, Japanese and Korean text, which has no spaces: CommonMark's flanking rule, amended.

CommonMark reads `**` between a letter and a punctuation mark as text: `**「重要」**です` would show its asterisks. The
amendment treats a CJK character like a space there:
https://github.com/tats-u/markdown-cjk-friendly/blob/main/specification.md
"""

import unicodedata
from collections.abc import Callable
from functools import partial

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.rules_inline.state_inline import Scanned

Rule = Callable[[StateInline, bool], bool]
_WIDE = ("W", "F", "H")  # East Asian Width
_NARROW_HANGUL = (range(0x1100, 0x1200), range(0xD7B0, 0xD800))
_EMOJI = (range(0x2300, 0x2E80), range(0x1F000, 0x1FB00))  # blocks whose wide symbols are emoji
_FULL_WIDTH = "\ufe01"  # variation selector for a full-width quotation mark
_IDEOGRAPHIC = range(0xE0100, 0xE01F0)  # variation selectors


def cjk_friendly(parser: MarkdownIt) -> None:
    parser.inline.ruler.at("emphasis", _amended(emphasis.tokenize))
    parser.inline.ruler.at("strikethrough", _amended(strikethrough.tokenize))


def _amended(rule: Rule) -> Rule:
    def tokenize(state: StateInline, silent: bool) -> bool:
        state.scanDelims = partial(_scan, state)  # type: ignore[method-assign]
        return rule(state, silent)

    return tokenize


def _scan(state: StateInline, start: int, can_split_word: bool) -> Scanned:
    """Return whether the run of marks at `start` can open and close emphasis, and its length."""
    end = start
    while end < state.posMax and state.src[end] == state.src[start]:
        end += 1
    before, is_wide_quote = _before(state.src[max(0, start - 2) : start] or " ")
    after = state.src[end] if end < state.posMax else " "
    is_cjk_before = _is_cjk(before) or ord(before) in _IDEOGRAPHIC
    is_space_before, is_space_after = isWhiteSpace(ord(before)), isWhiteSpace(ord(after))
    is_sign_before = _is_punctuation(before) and not _is_cjk(before) and not is_wide_quote
    is_sign_after = _is_punctuation(after) and not _is_cjk(after)
    is_left = not is_space_after and (not is_sign_after or is_space_before or is_sign_before or is_cjk_before)
    is_right = not is_space_before and (not is_sign_before or is_space_after or is_sign_after or _is_cjk(after))
    return Scanned(
        can_open=is_left and (can_split_word or not is_right or _is_punctuation(before)),
        can_close=is_right and (can_split_word or not is_left or _is_punctuation(after)),
        length=end - start,
    )


def _before(text: str) -> tuple[str, bool]:
    """Return the last character without its variation selector, and whether it is a full-width quotation mark."""
    base, last = text[:1], text[-1]
    if len(text) < 2 or not "\ufe00" <= last <= "\ufe0e" or not (_is_punctuation(base) or _is_cjk(base)):
        return last, False
    return base, last == _FULL_WIDTH and unicodedata.east_asian_width(base) == "A"


def _is_cjk(character: str) -> bool:
    code = ord(character)
    if any(code in hangul for hangul in _NARROW_HANGUL):
        return True
    is_emoji = unicodedata.category(character) in ("So", "Sk") and any(code in emoji for emoji in _EMOJI)
    return unicodedata.east_asian_width(character) in _WIDE and not is_emoji


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)
