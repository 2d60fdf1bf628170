"""Patterns of file names (as in .gitignore) → regular expressions over paths."""

import re

_TOKENS = re.compile(
    r"""
    (?P<folders> (?:^|(?<=/)) (?:\*\*/)+ )    # any number of folders, none included
    | (?P<below> (?<=/) \*\*$ )               # all that is below
    | (?P<star> \*+ )
    | (?P<one> \? )
    | \[ (?P<negated> [!^]? ) (?P<set> \]? [^]/]* ) \]
    | (?P<brace> [{,}] )
    | \\ (?P<escaped> . )
    | (?P<literal> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_PIECES = {"folders": "(?:.*/)?", "below": ".+", "star": "[^/]*", "one": "[^/]"}
_BRACES = {"{": "(?:", ",": "|", "}": ")"}


def compiled(pattern: str, *, beneath: str = "", braces: bool = False, flags: int = 0) -> re.Pattern[str]:
    """An expression that matches whole paths below the folder `beneath` ("" or "a/b/").

    Without a slash the pattern matches a name at any depth, otherwise the path from that folder on. `braces` allows
    {a,b}. Raises re.error.
    """
    anchored = "/" in pattern
    body = _translated(pattern.removeprefix("/"), braces)
    return re.compile(re.escape(beneath) + ("" if anchored else "(?:.*/)?") + f"(?:{body})", flags | re.DOTALL)


def _translated(pattern: str, braces: bool) -> str:
    depth = 0
    pieces = []
    for token in _TOKENS.finditer(pattern):
        kind = token.lastgroup or ""
        if kind == "brace" and braces and (token[0] != "," or depth):
            depth += {"{": 1, ",": 0, "}": -1}[token[0]]
            pieces.append(_BRACES[token[0]])
        elif kind == "set":
            pieces.append(_set(token["negated"], token["set"]))
        else:
            pieces.append(_PIECES.get(kind) or re.escape(token["escaped"] or token[0]))
    return "".join(pieces)


def _set(negated: str, characters: str) -> str:
    inside = re.sub(r"[\[\]\\^&|~]", r"\\\g<0>", characters)
    return f"[^/{inside}]" if negated else f"[{inside}]"
