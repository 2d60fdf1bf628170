"""The tokens of bash: patterns of words, quotes, operators and here-documents, and its keywords."""

import re
import sys

BLANK = re.compile(r"(?:[ \t]|\\\n|\r++(?=\n|\Z)|#[^\n]*)+")
REDIRECTION = re.compile(r"(?:\d+|&|\{[A-Za-z_]\w*\})?(>>|>\||>&|>|<<<|<<-?|<&|<>|<)(?!\()(?:[ \t]|\\\n)*")
OPERATOR = re.compile(r"\|\||&&|;;&?|;&|\|&|[;&|\n()]")
WORD = re.compile(
    r"""(?P<plain>(?:[^ \t\r\n;&|<>()\\'"$`]|\r++(?!\n|\Z))+) | (?P<arithmetic>\$\(\(|\$\[) | (?P<command>[$<>]\()
    | (?P<backtick>`) | (?P<expansion>\$\{) | (?P<quote>\$?") | '(?P<literal>[^']*)'
    | \$'(?P<escaped>(?:[^'\\]|\\.)*)' | (?P<open>\$?') | \\\n(?P<continuation>) | \\(?P<character>.?)
    | (?P<dollar>\$)""",
    re.DOTALL | re.VERBOSE,
)
IN_QUOTES = re.compile(
    r"""(?P<plain>[^\\"$`]+) | (?P<end>") | (?P<arithmetic>\$\(\(|\$\[) | (?P<command>\$\() | (?P<backtick>`)
    | (?P<expansion>\$\{) | \\\n(?P<continuation>) | \\(?P<character>["\\$`]) | (?P<backslash>\\) | (?P<dollar>\$)""",
    re.DOTALL | re.VERBOSE,
)
IN_HERE_DOCUMENT = re.compile(
    r"""(?P<plain>[^\\$`]+) | (?P<arithmetic>\$\(\(|\$\[) | (?P<command>\$\() | (?P<backtick>`) | (?P<expansion>\$\{)
    | \\(?P<character>.?) | (?P<dollar>\$)""",
    re.DOTALL | re.VERBOSE,
)
# Within ${…}, or a subscript.
IN_EXPANSION = re.compile(
    r"""(?P<plain>[^]}\\'"$`<>]+) | (?P<end>[]}]) | (?P<arithmetic>\$\(\(|\$\[) | (?P<command>[$<>]\() | (?P<backtick>`)
    | (?P<expansion>\$\{) | (?P<quote>\$?") | '(?P<literal>[^']*)' | \$'(?P<escaped>(?:[^'\\]|\\.)*)' | (?P<open>\$?')
    | \\\n(?P<continuation>) | \\(?P<character>.?) | (?P<dollar>[$<>])""",
    re.DOTALL | re.VERBOSE,
)
# Arithmetic without quotes that could hide a bracket. Anything else after (( is read as commands.
IN_ARITHMETIC = re.compile(
    r"""(?P<plain>(?:[^()"'`\\;#\s]|(?<=[\w$])\#|\s(?!\#)|"[^"\\`()]*"|;(?!;))+)|(?P<bracket>[()])"""
)
BACKTICKS = re.compile(r"((?:[^`\\]|\\.)*+)(`?)", re.DOTALL)
ESCAPED_IN_BACKTICKS = re.compile(r"\\([\\`$])")  # within backticks
ESCAPED_IN_QUOTED_BACKTICKS = re.compile(r'\\([\\`$"])')
KEYWORD_IN = re.compile(r"in(?=[\s(\\]|\Z)")
PATTERN_OPERATOR = re.compile(r"[()|]")
SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[")

OPENING_KEYWORDS = {"{", "if", "while", "until", "for", "select", "case"}
CLOSING_KEYWORDS = {"}", "fi", "done", "esac"}
INNER_KEYWORDS = {"then", "elif", "else", "do", "!", "time", "coproc"}  # a command follows
KEYWORDS = OPENING_KEYWORDS | CLOSING_KEYWORDS | INNER_KEYWORDS

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_CONTROL_CHARACTERS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


def _character(escape: re.Match[str]) -> str:
    """Return the character of an escape sequence of $'…'. Unknown ones stay as they are."""
    if digits := escape[1] or escape[2] or escape[3]:
        code = int(digits, 16)
        return chr(code) if code <= sys.maxunicode else "\ufffd"
    if escape[4]:
        return chr(int(escape[4], 8) & 0xFF)
    if escape[5]:
        return chr(ord(escape[5]) & 0x1F)
    return _CONTROL_CHARACTERS.get(escape[6], escape[0])


def unescape(text: str) -> str:
    """Return the text of $'…', which ends at a NUL."""
    return _ESCAPE.sub(_character, text).partition("\0")[0]
