"""Patterns of file names (as in .gitignore) as regular expressions, and the messages of the search process."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tools_app.files.names import loose

_TOKENS = re.compile(
    r"""
    (?P<folders> (?:^|(?<=/)) (?:\*\*/)+ )    # any number of folders, none included
    | (?P<below> (?<=/) \*\*$ )               # all that is below
    | (?P<star> \*+ )
    | (?P<one> \? )
    | \[ (?P<negated> [!^]? ) (?P<set> \]? [^]/]{0,250} ) \]
    | (?P<brace> [{,}] )
    | \\ (?P<escaped> . )
    | (?P<literal> [^][*?{},\\/]+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_PIECES = {"folders": "(?:.*/)?", "below": ".+", "star": "[^/]*", "one": "[^/]"}
_BRACES = {"{": "(?:", ",": "|", "}": ")"}

_END = re.compile(r"(?:(?<![\\\s])|(?<=\\\s))\s++$")  # spaces at the end count only if they are escaped


def path_pattern(
    pattern: str, *, beneath: str = "", braces: bool = False, flags: int = 0, is_loose: bool = False
) -> re.Pattern[str]:
    """An expression that matches whole paths below the folder `beneath` ("" or "a/b/").

    Without a slash the pattern matches a name at any depth, otherwise the path from that folder on. `braces` allows
    {a,b}, and names that have brackets themselves. A loose one matches paths whose names are folded. Raises re.error.
    """
    anchored = "/" in pattern
    pattern = unicodedata.normalize("NFC", pattern) if is_loose else pattern  # for the sets in it
    body = _translated(pattern.removeprefix("/"), braces, loose if is_loose else str)
    return re.compile(re.escape(beneath) + ("" if anchored else "(?:.*/)?") + f"(?:{body})", flags | re.DOTALL)


def _translated(pattern: str, braces: bool, spelling: Callable[[str], str]) -> str:
    depth = 0
    pieces = []
    for token in _TOKENS.finditer(pattern):
        kind = token.lastgroup or ""
        if kind == "brace" and braces and (token[0] != "," or depth):
            depth += {"{": 1, ",": 0, "}": -1}[token[0]]
            pieces.append(_BRACES[token[0]])
        elif kind == "set":
            pieces.append(_set_or_name(token, spelling) if braces else _set(token["negated"], token["set"]))
        else:
            pieces.append(_PIECES.get(kind) or re.escape(spelling(token["escaped"] or token[0])))
    return "".join(pieces)


def _set(negated: str, characters: str) -> str:
    inside = re.sub(r"[\[\]\\^&|~]", r"\\\g<0>", characters)
    return f"[^/{inside}]" if negated else f"[{inside}]"


def _set_or_name(token: re.Match[str], spelling: Callable[[str], str]) -> str:
    """Return the set, or what is written, as in app/[id]/page.tsx; only that where it is no set: [user-id]."""
    name, characters = re.escape(spelling(token[0])), _set(token["negated"], token["set"])
    try:
        re.compile(characters)
    except re.error:
        return name
    return f"(?:{characters}|{name})"


@dataclass(frozen=True, kw_only=True)
class Rule:
    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


def rules_of(text: str, beneath: str) -> list[Rule]:
    """The rules of the .gitignore in the folder `beneath` ("" or "a/b/"); lines that are no pattern are left out."""
    return [rule for line in text.splitlines() if (rule := _rule(_END.sub("", line), beneath))]


def _rule(line: str, beneath: str) -> Rule | None:
    negated = line.startswith("!")
    pattern = line[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern or line.startswith("#"):
        return None
    try:
        expression = path_pattern(pattern, beneath=beneath)
    except re.error:  # such as [z-a]: git matches nothing with it either
        return None
    return Rule(expression=expression, negated=negated, folders_only=folders_only)


def is_ignored(rules: Sequence[Rule], path: str, is_folder: bool) -> bool:
    """The last rule that matches decides; those of inner folders come last."""
    for rule in reversed(rules):
        if (is_folder or not rule.folders_only) and rule.expression.fullmatch(path):
            return not rule.negated
    return False


@dataclass(frozen=True, kw_only=True)
class Query:
    """`place` leads from `root`, which no program can replace, to the workspace, or to a view of another one at
    `prefix`; `names` lead on to the folder (or the file) below that. `owner` is whom to search as.

    The answer begins with the match number `offset` and holds at most `room` bytes, but one match in any case.
    After `seconds` the answer is what was found so far. After more than twice that time the process ends itself: the
    server may have died and left it with a pattern that never finishes.
    """

    root: str
    place: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    prefix: str = ""
    owner: tuple[int, int] | None = None
    action: Literal["glob", "grep"]
    pattern: str
    glob: str = ""
    ignore_case: bool = False
    context: int = 0
    offset: int = 1
    room: int = 10_000
    seconds: float = 15


@dataclass(frozen=True, kw_only=True)
class Answer:
    """`shown` of `total` matches are in `lines`. `complete`: the time was enough. `error`: why nothing was searched.

    `unsearched` names what could not be searched, a line for each reason; `documents` are the paths of those that are
    still to be searched (`in_documents`).
    """

    lines: list[str]
    shown: int = 0
    total: int = 0
    complete: bool = True
    unsearched: Sequence[str] = ()
    documents: Sequence[str] = ()
    error: str = ""
