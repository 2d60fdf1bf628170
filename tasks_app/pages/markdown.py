"""Markdown → HTML that can do no harm: rendered first, sanitised last, by an allow list."""

import re
from collections.abc import MutableMapping, Sequence
from functools import partial
from html import escape
from itertools import pairwise, takewhile
from typing import Any
from urllib.parse import quote, unquote

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
LONGEST_COLOURED = 20_000  # characters of a code block; some lexers are slow on long lines
LONGEST_LABEL = 80  # characters of a table's name for screen readers
SHORT = 24  # characters of a table's cell that is never broken into lines: a number with its unit, a date, a name
_TAGS = {
    *("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "span"),
    *("strong", "em", "s", "a", "img", "div", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    "a": {"href"},
    "img": {"src", "alt"},
    "ol": {"start"},
    "code": {"class"},
    "span": {"class"},
    "div": {"aria-label"},
    "th": {"class"},
    "td": {"class"},
}
_FRAME = {"class": "table", "role": "region", "tabindex": "0"}  # of a table: a keyboard can scroll it
_OUTSIDE = re.compile(r"https?://|mailto:", re.IGNORECASE)
_RELATIVE = re.compile(r"(?![a-z][a-z0-9+.-]*:)[^/\\?#][^?#]*", re.IGNORECASE)
_SANDBOX = re.compile(r"http://sandbox:(\d{1,5})(?:/(.*))?", re.IGNORECASE)
_CELL = r"(left|center|right)( short)?|short"
_CLASSES = {"code": r"language-[\w+#.-]{1,30}", "span": r"[a-z][a-z0-9]{0,2}", "div": "table", "th": _CELL, "td": _CELL}


def markdown(text: str, files_url: str = "") -> SafeString:
    """The HTML of `text`. Relative links and pictures are files of the workspace below `files_url`, where one is given.

    Raw HTML is shown as text; links go to http, https, mailto and to workspace files; pictures come from nowhere else.
    """
    html = _parser.render(text, {"files_url": files_url})
    return mark_safe(_sanitised(html, files_url))  # noqa: S308  sanitised on this very line


def _ports_url(files_url: str) -> str:
    return f"{files_url.removesuffix('files/')}ports/"


def _sanitised(html: str, files_url: str) -> str:
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=partial(_allowed, files_url),
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}, "img": {"loading": "lazy"}, "div": _FRAME},
    )


def _allowed(files_url: str, tag: str, attribute: str, value: str) -> str | None:
    """The last word on each attribute, whatever was rendered before."""
    ours = bool(files_url) and value.startswith(files_url) and ".." not in unquote(value)
    served = bool(files_url) and value.startswith(_ports_url(files_url)) and ".." not in unquote(value)
    match attribute:
        case "href":
            return value if ours or served or _OUTSIDE.match(value) else None
        case "src":
            return value if ours and value.lower().endswith(PICTURES) else None
        case "class":
            return value if re.fullmatch(_CLASSES[tag], value, re.ASCII) else None
    return value


# --- from Markdown to HTML --------------------------------------------------------------------------------------


def _resolve_addresses(state: StateCore) -> None:
    for block in state.tokens:
        for token in block.children or []:
            for attribute in ("href", "src"):
                if isinstance(address := token.attrGet(attribute), str):
                    token.attrSet(attribute, _resolved(address, state.env["files_url"]))


def _resolved(address: str, files_url: str) -> str:
    """The address of the workspace's file that a relative one means, or of the preview of what the session's sandbox
    serves; any other unchanged.
    """
    if files_url and (served := _SANDBOX.fullmatch(address)):
        return f"{_ports_url(files_url)}{served[1]}/{served[2] or ''}"
    if files_url and (path := _RELATIVE.match(address)):
        return files_url + quote(unquote(path[0]).removeprefix("./"))
    return address


def _set_cells(state: StateCore) -> None:
    """How a cell is set, in classes: the policy of our pages forbids the styles that the parser writes."""
    for cell, inside in pairwise(state.tokens):
        if cell.type in ("th_open", "td_open"):
            side = str(cell.attrs.pop("style", "")).removeprefix("text-align:")
            classes = [side, "short" if len(inside.content) <= SHORT else ""]
            if any(classes):
                cell.attrSet("class", " ".join(filter(None, classes)))


def _table_open(self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """In a frame that is named by the heads of the columns."""
    head = takewhile(lambda token: token.type != "thead_close", tokens[number:])
    names = ("".join(word.content for word in token.children) for token in head if token.children)
    return f'<div aria-label="Table: {escape(", ".join(names)[:LONGEST_LABEL])}"><table>\n'


def _table_close(self: Any, *about: Any) -> str:
    return "</table></div>\n"


def _image(self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """A picture of the workspace. One from elsewhere becomes a link: nothing is fetched without a click."""
    token = tokens[number]
    source, words = escape(str(token.attrGet("src"))), escape(token.content)
    if _OUTSIDE.match(source):
        return f'<a href="{source}">{words or source}</a>'
    return f'<img src="{source}" alt="{words}">'


def _coloured(code: str, language: str, attributes: str) -> str:
    """The code in spans with pygments' classes; empty where it has no lexer, then it is shown plain."""
    if not language or len(code) > LONGEST_COLOURED:
        return ""
    try:
        return str(highlight(code, get_lexer_by_name(language), HtmlFormatter(nowrap=True)))
    except ClassNotFound:
        return ""


_parser = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).enable(["table", "strikethrough"])
_parser.core.ruler.push("resolve_addresses", _resolve_addresses)
_parser.core.ruler.push("set_cells", _set_cells)
_parser.add_render_rule("image", _image)
_parser.add_render_rule("table_open", _table_open)
_parser.add_render_rule("table_close", _table_close)
