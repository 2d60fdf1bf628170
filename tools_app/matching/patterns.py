"""Patterns of file names, as in .gitignore, and the messages of the search process."""

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

_END = re.compile(r"(?:(?<![\\\s])|(?<=\\\s))\s++$")  # trailing spaces count only if they are escaped


def path_pattern(
    pattern: str, *, beneath: str = "", braces: bool = False, flags: int = 0, is_loose: bool = False
) -> re.Pattern[str]:
    """Return an expression that matches entire paths below the folder `beneath` ("" or "a/b/").

    Without a slash the pattern matches a name at any depth, otherwise the path from that folder on. `braces` allows
    {a,b} and names that contain brackets. A loose expression matches paths with folded names.

    Raises: re.error
    """
    anchored = "/" in pattern
    pattern = unicodedata.normalize("NFC", pattern) if is_loose else pattern  # for its character sets
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
    """Return a pattern for the set or the literal name, as in app/[id]/page.tsx; only the latter for an invalid set."""
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
    """Return the rules of the .gitignore in the folder `beneath` ("" or "a/b/"). Invalid lines are skipped."""
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
    except re.error:  # such as [z-a], which matches nothing in git either
        return None
    return Rule(expression=expression, negated=negated, folders_only=folders_only)


def is_ignored(rules: Sequence[Rule], path: str, is_folder: bool) -> bool:
    """Return the verdict of the last matching rule. Rules of inner folders come last."""
    for rule in reversed(rules):
        if (is_folder or not rule.folders_only) and rule.expression.fullmatch(path):
            return not rule.negated
    return False


@dataclass(frozen=True, kw_only=True)
class Query:
    """A request to the search process.

    `place` leads from `root`, which no program can replace, to the workspace, or to a view that appears at `prefix`.
    `names` lead on to the folder or file to search. `owner` is the user to search as.

    The answer starts with match number `offset` and holds at most `room` bytes, but at least one match. After `seconds`
    the process answers with the results so far. After more than twice that time it ends itself, in case the server has
    died and the pattern never finishes.
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
    """The answer of the search process.

    `lines` contains `shown` of `total` matches. `complete` is False if time ran out. `error` is the reason if nothing
    was searched. `unsearched` names files that could not be searched, one line for each reason. `documents` are paths
    that `in_documents` still has to search.
    """

    lines: list[str]
    shown: int = 0
    total: int = 0
    complete: bool = True
    unsearched: Sequence[str] = ()
    documents: Sequence[str] = ()
    error: str = ""
