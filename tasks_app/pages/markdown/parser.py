"""Markdown to HTML: markdown-it with our rules for pictures, tables, code, addresses and text direction."""

import re
import unicodedata
from collections.abc import Iterator, MutableMapping, Sequence
from hashlib import sha256
from html import escape
from itertools import pairwise, takewhile
from typing import Any
from urllib.parse import quote, unquote

from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.tasklists import tasklists_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tasks_app.pages.markdown.sanitizer import OUTSIDE, ports_url
from tasks_app.pages.markdown.syntax import cjk_friendly, formulas

FOLDED_LINES = 30  # a longer block is folded
MAX_HIGHLIGHTED_CHARS = 20_000  # some lexers are slow on long lines
MAX_LANGUAGE_CHARS = 30


def fence(self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """Render a code block. The last block of a text that is not whole is still being written."""
    token, is_written = tokens[number], env["is_whole"] or number < len(tokens) - 1
    language = (token.info.split() or [""])[0].lower()[:MAX_LANGUAGE_CHARS]
    lexer = _lexer(language) if is_written else None
    if lexer and len(token.content) <= MAX_HIGHLIGHTED_CHARS:
        code = highlight(token.content, lexer, HtmlFormatter(nowrap=True))
    else:
        code = escape(token.content)
    html = f'<pre><code class="language-{escape(language or "text")}">{code}</code></pre>'
    name = gettext("Diagram") if language == "mermaid" else escape(lexer.name if lexer else language)
    count = token.content.count("\n")
    if language == "mermaid" and is_written:
        return f'<figure class="code diagram"><figcaption>{name}</figcaption>{html}</figure>\n'
    if count > FOLDED_LINES and is_written:
        head = f"<summary>{name or gettext('Text')} <small>{gettext('{} lines').format(count)}</small></summary>"
        return f'<details class="code" id="code-{env["docId"]}-{number}">{head}{html}</details>\n'
    return f'<figure class="code">{f"<figcaption>{name}</figcaption>" if name else ""}{html}</figure>\n'


def code_block(self: Any, tokens: Sequence[Token], number: int, *about: Any) -> str:
    return f'<figure class="code"><pre><code>{escape(tokens[number].content)}</code></pre></figure>\n'


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language) if language else None
    except ClassNotFound:
        return None


_BLOCKS = ("paragraph_open", "heading_open", "th_open", "td_open")
_CONTAINERS = ("bullet_list_open", "ordered_list_open", "blockquote_open", "table_open")
_LEFT_TO_RIGHT, _RIGHT_TO_LEFT = ("L",), ("R", "AL")


def set_directions(state: StateCore) -> None:
    """Set `dir` of each block. Lists need an explicit one: `dir=auto` ignores inner blocks that have a `dir`."""
    is_right_to_left = False
    for token in reversed(state.tokens):
        if token.type == "inline" and (direction := _first_direction(token)):
            is_right_to_left = direction in _RIGHT_TO_LEFT
        elif token.type in _BLOCKS:
            token.attrSet("dir", "auto")
        elif token.type in _CONTAINERS:
            token.attrSet("dir", "rtl" if is_right_to_left else "auto")


def _first_direction(inline: Token) -> str:
    """Return the direction of the first letter, or '' if there is none."""
    directions = map(unicodedata.bidirectional, inline.content)
    return next((direction for direction in directions if direction in _LEFT_TO_RIGHT + _RIGHT_TO_LEFT), "")


MAX_LABEL_CHARS = 80  # of a table's label for screen readers
NOWRAP_CHARS = 24  # up to which a cell is never wrapped, such as a date or a number with its unit
_RELATIVE = re.compile(r"(?![a-z][a-z0-9+.-]*:)[^/\\?#][^?#]*", re.IGNORECASE)
_LIBRARY = re.compile(r"library:(\d{1,18})/(\d{1,9})", re.ASCII)
_SANDBOX = re.compile(r"http://sandbox:(\d{1,5})(?:/(.*))?", re.IGNORECASE)


def render(text: str, files_url: str, *, is_whole: bool) -> str:
    """Return HTML that must be sanitised. Ids begin with a hash of the text, as a page shows many texts."""
    text_hash = sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return str(_renderer.render(text, {"files_url": files_url, "docId": text_hash, "is_whole": is_whole}))


def _resolve_addresses(state: StateCore) -> None:
    for block in state.tokens:
        for token in block.children or []:
            for attribute in ("href", "src"):
                if isinstance(address := token.attrGet(attribute), str):
                    token.attrSet(attribute, _resolve_address(address, state.env["files_url"]))
            if token.type == "link_open":
                token.attrSet("target", "_blank")


def _resolve_address(address: str, files_url: str) -> str:
    """Return the address of a workspace file, sandbox preview or library page, or the address unchanged."""
    if library_link := _LIBRARY.fullmatch(address):
        return f"/library/{library_link[1]}/?page={library_link[2]}"
    if not files_url:
        return address
    if sandbox_link := _SANDBOX.fullmatch(address):
        return f"{ports_url(files_url)}{sandbox_link[1]}/{sandbox_link[2] or ''}"
    if relative_path := _RELATIVE.match(address):
        return files_url + quote(unquote(relative_path[0]).removeprefix("./"))
    return address


def _set_cell_classes(state: StateCore) -> None:
    """Set the alignment of cells as classes: the content security policy forbids inline styles."""
    for cell, inline in pairwise(state.tokens):
        if cell.type in ("th_open", "td_open"):
            alignment = str(cell.attrs.pop("style", "")).removeprefix("text-align:")
            classes = [alignment, "short" if len(inline.content) <= NOWRAP_CHARS else ""]
            if any(classes):
                cell.attrSet("class", " ".join(filter(None, classes)))


def _table_open(self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """Open a table in a frame that is labelled with the column headings."""
    head = takewhile(lambda token: token.type != "thead_close", tokens[number:])
    names = ("".join(word.content for word in token.children) for token in head if token.children)
    label = escape(", ".join(names)[:MAX_LABEL_CHARS])
    return f'<div aria-label="Table: {label}"><table dir="{tokens[number].attrGet("dir")}">\n'


def _table_close(self: Any, *about: Any) -> str:
    return "</table></div>\n"


def _image(self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """Render a picture of the workspace, or a link for a picture from elsewhere: nothing is fetched without a click."""
    token = tokens[number]
    source, words = escape(str(token.attrGet("src"))), escape(token.content)
    if OUTSIDE.match(source):
        return f'<a href="{source}" target="_blank">{words or source}</a>'
    return f'<img src="{source}" alt="{words}">'


def _footnotes_open(self: Any, *about: Any) -> str:
    return '<section class="footnotes" aria-label="Footnotes">\n<ol class="footnotes-list">\n'


def _footnote_number(self: Any, tokens: Sequence[Token], number: int, *about: Any) -> str:
    return f"[{tokens[number].meta['id'] + 1}]"


def _footnote_back_link(
    self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    meta = tokens[number].meta
    target = f"{env['docId']}-{meta['id'] + 1}" + (f":{meta['subId']}" if meta["subId"] > 0 else "")
    sign = "↩\N{VARIATION SELECTOR-15}"  # text instead of the emoji
    return f' <a href="#fnref-{target}" class="footnote-backref" aria-label="Back to the text">{sign}</a>'


def structure() -> MarkdownIt:
    """Return a parser for the structure of a text, without our rendering."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": True}).enable(["table", "strikethrough", "linkify"])
    parser.use(footnote_plugin, inline=False).use(formulas).use(cjk_friendly)
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})  # `main.py` is not a link
    for scheme in ("//", "ftp:"):
        parser.linkify.add(scheme, None)
    parser.normalizeLinkText = str  # type: ignore[assignment,method-assign]  # show punycode, not look-alike letters
    return parser


def _make_renderer() -> MarkdownIt:
    parser = structure().use(tasklists_plugin)
    parser.core.ruler.push("resolve_addresses", _resolve_addresses)
    parser.core.ruler.push("set_cells", _set_cell_classes)
    parser.core.ruler.push("set_directions", set_directions)
    rules: dict[str, Any] = {"image": _image, "table_open": _table_open, "table_close": _table_close, "fence": fence}
    notes = {
        "footnote_block_open": _footnotes_open,
        "footnote_caption": _footnote_number,
        "footnote_anchor": _footnote_back_link,
        "code_block": code_block,
    }
    for name, rule in {**rules, **notes}.items():
        parser.add_render_rule(name, rule)
    return parser


_renderer = _make_renderer()
_structure = structure()
_OF_NAMES = re.compile(r"[A-Za-z0-9]\w*|[^_\n]*+_.*", re.ASCII)  # text between underscores that belong to a name
_SOURCE = ("fence", "code_block", "formula_block")
_BREAKS = ("softbreak", "hardbreak")


def words(text: str) -> str:
    """Return the words without Markdown marks. Names such as `__init__` keep their underscores."""
    blocks = _structure.parse(text)
    parts = []
    for block in blocks:
        if block.children:
            parts.append("".join(_inline_words(block.children)))
        elif block.type in _SOURCE:
            parts.append(block.content)
    return " ".join(" ".join(parts).split())


def _inline_words(tokens: Sequence[Token]) -> Iterator[str]:
    for number, token in enumerate(tokens):
        if token.type in _BREAKS:
            yield " "
        elif token.markup in ("_", "__"):
            neighbour = tokens[number + 1 : number + 2] if token.nesting > 0 else tokens[number - 1 : number]
            yield token.markup if neighbour and _OF_NAMES.fullmatch(neighbour[0].content) else ""
        else:
            yield token.content
