r"""Formulas as MathML: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, while "$5 to $10" stays text."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from math_core import LatexError, LatexToMathML

LONGEST, MOST_LINES = 4_000, 60  # per formula, to bound the search for a missing end
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
    found = _formula_at(state.src, state.pos, min(state.posMax, state.pos + LONGEST))
    if found is None:
        return False
    if not silent:
        is_display = found.lastgroup in ("dollars", "bracket")
        token = state.push("formula_display" if is_display else "formula", "math", 0)
        token.content = found[str(found.lastgroup)]
    state.pos = found.end()
    return True


def _formula_at(text: str, start: int, end: int) -> re.Match[str] | None:
    if text[start] == "$":
        follows_word = start > 0 and (text[start - 1].isalnum() or text[start - 1] == "$")
        found = None if follows_word else _INLINE.match(text, start, end)
        return None if found and found["dollar"] and _WORDS.match(found["dollar"]) else found
    closer = {"\\[": "\\]", "\\(": "\\)"}.get(text[start : start + 2])
    return _INLINE.match(text, start, end) if closer and text.find(closer, start, end) > 0 else None


def _formula_block(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse lines without an empty one that form a formula."""
    start = state.bMarks[first] + state.tShift[first]
    if state.is_code_block(first) or not state.src.startswith(("$$", "\\[", "\\begin{"), start):
        return False
    closer = _closer(state.src, start)
    for last in range(first, min(end, first + MOST_LINES) if closer else first):
        if state.isEmpty(last) or state.sCount[last] < state.blkIndent:
            return False
        if not state.src[state.bMarks[last] : state.eMarks[last]].rstrip().endswith(closer):
            continue
        found = _BLOCK.fullmatch(state.getLines(first, last + 1, state.blkIndent, False).strip())
        if found:
            return silent or _push(state, found, first, last + 1)
        if last > first:  # more lines do not make it a formula
            return False
    return False


def _closer(text: str, start: int) -> str:
    """Return the end of the last line of the formula, or '' if no formula begins here."""
    if begin := _BEGIN.match(text, start):
        return f"\\end{{{begin[1]}}}"
    return {"$$": "$$", "\\[": "\\]"}.get(text[start : start + 2], "")


def _push(state: StateBlock, found: re.Match[str], first: int, behind: int) -> bool:
    token = state.push("formula_block", "math", 0)
    token.content = found["dollars"] or found["bracket"] or found["environment"]
    token.map, token.block = [first, behind], True
    state.line = behind
    return True


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
