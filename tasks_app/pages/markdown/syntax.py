r"""Extensions of CommonMark: formulas, and emphasis next to Chinese, Japanese and Korean text.

Formulas are `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, rendered as MathML, while "$5 to $10" stays text.

CJK text has no spaces, so CommonMark reads `**` between a letter and a punctuation mark as text:
`**「重要」**です` would show its asterisks. The amended rule treats a CJK character like a space there:
https://github.com/tats-u/markdown-cjk-friendly/blob/main/specification.md
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml, isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from math_core import LatexError, LatexToMathML

# --- formulas -----------------------------------------------------------------------------------------------------

MAX_FORMULA_CHARS, MAX_FORMULA_LINES = 4_000, 60  # per formula, to bound the search for a missing end
# A formula in single dollars has no space at its ends, and no letter or digit follows it. So prices do not match.
_INLINE = re.compile(
    r"\$\$(?P<dollars>(?:\\.|[^\\$])+?)\$\$"
    r"|\\\[(?P<bracket>(?:\\(?!\])|[^\\])+?)\\\]"
    r"|\\\((?P<paren>(?:\\(?!\))|[^\\])+?)\\\)"
    r"|\$(?P<dollar>(?![\s$])(?:\\.|[^\\$\n])*?(?<![\s\\]))\$(?![\w$])"
)
_WORDS = re.compile(r"\d[^\\]*\s[^\W\d_]{2,}")  # "$5, or 10$" is about money
_BLOCK = re.compile(
    r"\$\$(?P<dollars>(?:\\.|[^\\$])+)\$\$|\\\[(?P<bracket>(?:\\(?!\])|[^\\])+)\\\]"
    r"|(?P<environment>\\begin\{(?P<name>(equation|align|alignat|gather)\*?)\}.+\\end\{(?P=name)\})",
    re.DOTALL,
)
_BEGIN = re.compile(r"\\begin\{((?:equation|align|alignat|gather)\*?)\}")
_STYLE = re.compile(r' style="([^"]*)"')
# Classes for the converter's inline styles, which the content security policy forbids.
_CLASS_OF_STYLE = {
    "text-align: left": "m-left",
    "text-align: right": "m-right",
    "padding-left: 0": "m-joined",
    "padding-right: 0": "m-joining",
    "padding-left:1em": "m-apart",
    "width: 100%": "m-wide",
    "width: 50%": "m-half",
    "border-right: 0.05em solid currentcolor": "m-border-right",
    "border-left: 0.05em solid currentcolor": "m-border-left",
    "border-top: 0.05em solid currentcolor": "m-border-top",
}
_COLOR = re.compile(r"color:(#[0-9A-Fa-f]{6})")


def formulas(parser: MarkdownIt) -> None:
    parser.inline.ruler.before("escape", "formula", _inline_formula)
    parser.block.ruler.before("fence", "formula_block", _formula_block, {"alt": ["paragraph", "blockquote", "list"]})
    parser.add_render_rule("formula", lambda self, tokens, number, *_: _as_html(tokens[number].content, is_block=False))
    parser.add_render_rule("formula_display", _display_as_html)
    parser.add_render_rule("formula_block", _block_as_html)


def _inline_formula(state: StateInline, silent: bool) -> bool:
    match = _formula_at(state.src, state.pos, min(state.posMax, state.pos + MAX_FORMULA_CHARS))
    if match is None:
        return False
    if not silent:
        is_display = match.lastgroup in ("dollars", "bracket")
        token = state.push("formula_display" if is_display else "formula", "math", 0)
        token.content = match[str(match.lastgroup)]
    state.pos = match.end()
    return True


def _formula_at(text: str, start: int, end: int) -> re.Match[str] | None:
    if text[start] == "$":
        follows_word = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "$")
        match = None if follows_word else _INLINE.match(text, start, end)
        return None if match and match["dollar"] and _WORDS.match(match["dollar"]) else match
    closing_mark = {"\\[": "\\]", "\\(": "\\)"}.get(text[start : start + 2])
    return _INLINE.match(text, start, end) if closing_mark and text.find(closing_mark, start, end) > 0 else None


def _formula_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse lines without an empty one that form a formula."""
    start = state.bMarks[first] + state.tShift[first]
    if state.is_code_block(first) or not state.src.startswith(("$$", "\\[", "\\begin{"), start):
        return False
    begin = _BEGIN.match(state.src, start)
    delimiters = {"$$": "$$", "\\[": "\\]"}
    closing_mark = f"\\end{{{begin[1]}}}" if begin else delimiters.get(state.src[start : start + 2], "")
    for last in range(first, min(end, first + MAX_FORMULA_LINES) if closing_mark else first):
        if state.isEmpty(last) or state.sCount[last] < state.blkIndent:
            return False
        if not state.src[state.bMarks[last] : state.eMarks[last]].rstrip().endswith(closing_mark):
            continue
        match = _BLOCK.fullmatch(state.getLines(first, last + 1, state.blkIndent, False).strip())
        if match:
            if not silent:
                token = state.push("formula_block", "math", 0)
                token.content = match["dollars"] or match["bracket"] or match["environment"]
                token.map, token.block = [first, last + 1], True
                state.line = last + 1
            return True
        if last > first:  # more lines do not make it a formula
            return False
    return False


def _display_as_html(self: Any, tokens: Sequence[Token], number: int, *about: Any) -> str:
    return f'<span class="formula" tabindex="0">{_as_html(tokens[number].content)}</span>'


def _block_as_html(self: Any, tokens: Sequence[Token], number: int, *about: Any) -> str:
    return f'<p class="formula" tabindex="0">{_as_html(tokens[number].content)}</p>\n'


def _as_html(formula: str, *, is_block: bool = True) -> str:
    """Return MathML, or the source as code if it is invalid."""
    try:
        html = _converter().convert_with_local_state(formula.strip(), displaystyle=is_block)
    except LatexError:
        return f"<code>{escapeHtml(formula.strip())}</code>"
    return _STYLE.sub(_class_of, html)


def _class_of(style: re.Match[str]) -> str:
    if color := _COLOR.search(style[1]):
        return f' mathcolor="{color[1]}"'
    names = [_CLASS_OF_STYLE[part.strip()] for part in style[1].split(";") if part.strip() in _CLASS_OF_STYLE]
    return f' class="{" ".join(names)}"' if names else ""


@cache
def _converter() -> LatexToMathML:
    return LatexToMathML(fancy_error=False)


# --- emphasis -----------------------------------------------------------------------------------------------------

Rule = Callable[[StateInline, bool], bool]
_WIDE = ("W", "F", "H")  # East Asian Width
_NARROW_HANGUL = (range(0x1100, 0x1200), range(0xD7B0, 0xD800))
_EMOJI = (range(0x2300, 0x2E80), range(0x1F000, 0x1FB00))  # blocks whose wide symbols are emoji
_FULL_WIDTH = "\ufe01"  # variation selector for a full-width quotation mark
_IDEOGRAPHIC = range(0xE0100, 0xE01F0)  # variation selectors


def cjk_friendly(parser: MarkdownIt) -> None:
    parser.inline.ruler.at("emphasis", _with_cjk_rule(emphasis.tokenize))
    parser.inline.ruler.at("strikethrough", _with_cjk_rule(strikethrough.tokenize))


def _with_cjk_rule(rule: Rule) -> Rule:
    def tokenize(state: StateInline, silent: bool) -> bool:
        state.scanDelims = partial(_scan_marks, state)  # type: ignore[method-assign]
        return rule(state, silent)

    return tokenize


def _scan_marks(state: StateInline, start: int, can_split_word: bool) -> Scanned:
    """Return whether the run of marks at `start` can open and close emphasis, and its length."""
    end = start
    while end < state.posMax and state.src[end] == state.src[start]:
        end += 1
    before, is_wide_quote = _character_before(state.src[max(0, start - 2) : start] or " ")
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


def _character_before(text: str) -> tuple[str, bool]:
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
