"""Blocks of code: named, coloured, folded when they are long. The source of a diagram is one, too."""

from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any

from django.utils.translation import gettext
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

LONG = 30  # lines; a longer block shows its first ones until it is opened
LONGEST_COLOURED = 20_000  # characters; some lexers are slow on long lines
LONGEST_NAME = 30  # characters of a language's name


def fence(self: Any, tokens: Sequence[Token], number: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """The last block of a text that is not whole is still being written."""
    token, is_written = tokens[number], env["is_whole"] or number < len(tokens) - 1
    language = (token.info.split() or [""])[0].lower()[:LONGEST_NAME]
    lexer = _lexer(language) if is_written else None
    html = f'<pre><code class="language-{escape(language or "text")}">{_coloured(token.content, lexer)}</code></pre>'
    name = gettext("Diagram") if language == "mermaid" else escape(lexer.name if lexer else language)
    count = token.content.count("\n")
    if language == "mermaid" and is_written:
        return f'<figure class="code diagram"><figcaption>{name}</figcaption>{html}</figure>\n'
    if count > LONG and is_written:
        head = f"<summary>{name or gettext('Text')} <small>{gettext('{} lines').format(count)}</small></summary>"
        return f'<details class="code" id="code-{env["docId"]}-{number}">{head}{html}</details>\n'
    return f'<figure class="code">{f"<figcaption>{name}</figcaption>" if name else ""}{html}</figure>\n'


def indented(self: Any, tokens: Sequence[Token], number: int, *about: Any) -> str:
    return f'<figure class="code"><pre><code>{escape(tokens[number].content)}</code></pre></figure>\n'


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language) if language else None
    except ClassNotFound:
        return None


def _coloured(code: str, lexer: Lexer | None) -> str:
    """In spans with pygments' classes, where it knows the language."""
    if lexer is None or len(code) > LONGEST_COLOURED:
        return escape(code)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))
