"""The lines of a read document as HTML: headings, points, tables, notes, and tracked changes in colour.

Nothing is taken as Markdown or HTML: a document's own signs stay, and its marks are those of `tools_app/documents`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

_TOKEN = re.compile(r"(\{\+|\+\}|\[-|-\]|~~|\[hidden: |\[|\]\([^\s()]*+\)|\])")
_CLOSERS = {"+}": "{+", "-]": "[-"}
_OPENING = {"{+": "<ins>", "[-": "<del>", "~~": "<s>", "[": "[", "[hidden: ": "["}
_CLOSING = {"{+": "</ins>", "[-": "</del>", "~~": "</s>"}
_KINDS = _CLOSERS | {"{+": "{+", "[-": "[-", "~~": "~~", "[": "[", "[hidden: ": "["}
_WRAPPED = 500  # characters; the reader wraps longer lines
_FACT = re.compile(
    r"(?:Tracked changes, not accepted|Header|Footer|Section|Layout|Footer of the notes|Header of the notes|Axes|Labels"
    r"|(?:Comment|Reply) by [^:\n]*+|\[comment [^\]\n]*+\]|\[\^[^\]\n]*+\]): "
)
_NOTES = "Notes: "
_HEADING = re.compile(r"(#{1,6}) (.*)", re.DOTALL)
_POINT = re.compile(r"( *+)- (.*)", re.DOTALL)
_MARK = re.compile(
    r"(?:picture|comment|text box|text art|(?:embedded|linked|imported) file|moved|by|video|sound|media|object"
    r"|(?:empty )?field|choices|control|drawing|symbol|\^)"
)
_LINK = ("https://", "http://", "mailto:")
_FIRST_HEADING = 3  # below the name of the file and the kind of the document
_MAX_INDENT = 4
_SHORT = 24  # characters of a cell that needs no least width


def document_html(text: str) -> SafeString:
    """Return the HTML of a page, sheet or slide of a document."""
    return SafeString("".join(_blocks(list(_lines(text)))))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines. A row, or a change, that the reader wrapped is one line."""
    waiting = ""
    for part in text.split("\n"):
        line = f"{waiting} {part}" if waiting else part
        is_open = line.startswith("| ") and not line.endswith(" |")
        is_open |= any(line.rfind(opener) > line.rfind(closer) for closer, opener in _CLOSERS.items())
        if is_open and len(line) > _WRAPPED:
            waiting = line
            continue
        waiting = ""
        yield line
    if waiting:
        yield waiting


def _blocks(lines: list[str]) -> Iterator[SafeString]:
    position = 0
    while position < len(lines):
        line = lines[position]
        if line.startswith("| "):
            rows = list(takewhile(lambda row: row.startswith("| "), lines[position:]))
            position += len(rows)
            yield _table([row.removeprefix("| ").removesuffix(" |").split(" | ") for row in rows])
            continue
        if line.startswith(_NOTES):
            notes = [line.removeprefix(_NOTES), *takewhile(lambda other: not _FACT.match(other), lines[position + 1 :])]
            position += len(notes)
            paragraphs = format_html_join("", "<p>{}</p>", ((_inline(note),) for note in notes if note.strip()))
            yield format_html('<aside class="speaker-notes" dir="auto"><strong>Notes:</strong>{}</aside>', paragraphs)
            continue
        position += 1
        if line.strip():
            yield _paragraph(line)


def _paragraph(line: str) -> SafeString:
    if heading := _HEADING.fullmatch(line):
        level = min(len(heading[1]) - 1 + _FIRST_HEADING, 6)
        return format_html('<h{} dir="auto">{}</h{}>', level, _inline(heading[2]), level)
    if point := _POINT.fullmatch(line):
        indent = min(len(point[1]) // 2, _MAX_INDENT)
        return format_html('<p class="point in-{}" dir="auto">{}</p>', indent, _inline(point[2]))
    indent = min((len(line) - len(line.lstrip(" "))) // 2, _MAX_INDENT)
    name = "fact" if _FACT.match(line) else f"in-{indent}"
    return format_html('<p class="{}" dir="auto">{}</p>', name, _inline(line))


@dataclass(kw_only=True)
class _Cell:
    """A cell of a table, and the number of columns and rows that it spans."""

    text: str
    columns: int = 1
    rows: int = 1


def _table(rows: list[list[str]]) -> SafeString:
    """Return a table. A cell ← belongs to the one on its left, a cell ↑ to the one above."""
    above: dict[int, _Cell] = {}
    lines = []
    for index, texts in enumerate(rows):
        cells: list[_Cell] = []
        current: dict[int, _Cell] = {}
        for column, text in enumerate(texts):
            if text == "←" and column and column - 1 in current:
                current[column] = current[column - 1]
                current[column].columns += current[column] in cells
            elif text == "↑" and column in above:
                current[column] = above[column]
                current[column].rows += above.get(column - 1) is not above[column]
            else:
                current[column] = _Cell(text=text)
                cells.append(current[column])
        above = current
        lines.append(("th" if index == 0 else "td", cells))
    body = format_html_join(
        "",
        "<tr>{}</tr>",
        (
            (
                format_html_join(
                    "",
                    '<{} class="{}" colspan="{}" rowspan="{}" dir="auto">{}</{}>',
                    (
                        (
                            tag,
                            "short" if len(cell.text) < _SHORT else "",
                            cell.columns,
                            cell.rows,
                            _inline(cell.text),
                            tag,
                        )
                        for cell in cells
                    ),
                ),
            )
            for tag, cells in lines
        ),
    )
    return format_html(
        '<div class="table" role="region" tabindex="0" aria-label="{}"><table>{}</table></div>', _("Table"), body
    )


def _inline(text: str) -> SafeString:
    """Return a line with its changes, links, hidden text and names of pictures as elements."""
    tokens = [token for token in _TOKEN.split(text) if token]
    closed = _pairs(tokens)
    html = []
    for index, token in enumerate(tokens):
        html.append(closed[index] if index in closed else escape(token))
    return mark_safe("".join(html))  # noqa: S308  each part is escaped or a tag


def _pairs(tokens: list[str]) -> dict[int, str]:
    """Return the tags in place of the tokens that open and close an element, by index."""
    tags: dict[int, str] = {}
    stack: list[tuple[str, int]] = []
    waiting: Counter[str] = Counter()
    for index, token in enumerate(tokens):
        kind = _KINDS.get(token, "[" if token.startswith("]") else "")
        is_closer = token in _CLOSERS or token.startswith("]") or token == "~~"  # noqa: S105
        if is_closer and waiting[kind]:
            opener, start = stack.pop()
            while opener != kind:  # it never closes
                waiting[opener] -= 1
                opener, start = stack.pop()
            waiting[kind] -= 1
            tags |= _bracketed(tokens, start, index) if kind == "[" else {start: _OPENING[kind], index: _CLOSING[kind]}
        elif token in _OPENING:
            stack.append((kind, index))
            waiting[kind] += 1
    return tags


def _bracketed(tokens: list[str], start: int, end: int) -> dict[int, str]:
    """Return the tags of text in brackets: a link, hidden text, the name of a picture, or text of the document."""
    token, target = tokens[end], tokens[end][2:-1]
    mark = "".join(tokens[start + 1 : start + 2])
    if tokens[start] != "[":
        return {start: '<span class="hidden-text">[hidden: ', end: "]</span>" + escape(token[1:])}
    if _MARK.match(mark) and end - start < 10:
        begin, close = ('<span class="doc-mark">[', "]</span>")
    else:
        begin, close = ("[", "]")
    if len(token) == 1:
        return {start: begin, end: close}
    if not target.startswith(_LINK):
        return {start: begin, end: close + escape(token[1:])}
    link = format_html('<a href="{}" rel="noopener noreferrer nofollow" target="_blank" title="{}">', target, target)
    is_mark = begin != "["
    closing = format_html('</a> <span class="target">{}</span>', target)
    return {start: link + (begin if is_mark else ""), end: (close if is_mark else "") + closing}
