"""Patterns of file names, as in .gitignore, and the messages of the search process."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tools_app.files.names import normalized

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
_TRANSLATIONS = {"folders": "(?:.*/)?", "below": ".+", "star": "[^/]*", "one": "[^/]"}
_BRACES = {"{": "(?:", ",": "|", "}": ")"}

_TRAILING_SPACES = re.compile(r"(?:(?<![\\\s])|(?<=\\\s))\s++$")  # trailing spaces count only if they are escaped


def path_pattern(
    pattern: str, *, folder: str = "", braces: bool = False, flags: int = 0, is_loose: bool = False
) -> re.Pattern[str]:
    """Return an expression that matches entire paths below the folder `folder` ("" or "a/b/").

    Without a slash the pattern matches a name at any depth, otherwise the path from that folder on. `braces` allows
    {a,b} and names that contain brackets. A loose expression matches paths with folded names.

    Raises: re.error
    """
    anchored = "/" in pattern
    pattern = unicodedata.normalize("NFC", pattern) if is_loose else pattern  # for its character sets
    body = _translate(pattern.removeprefix("/"), braces, normalized if is_loose else str)
    return re.compile(re.escape(folder) + ("" if anchored else "(?:.*/)?") + f"(?:{body})", flags | re.DOTALL)


def _translate(pattern: str, braces: bool, spelling: Callable[[str], str]) -> str:
    depth = 0
    parts = []
    for token in _TOKENS.finditer(pattern):
        kind = token.lastgroup or ""
        if kind == "brace" and braces and (token[0] != "," or depth):
            depth += {"{": 1, ",": 0, "}": -1}[token[0]]
            parts.append(_BRACES[token[0]])
        elif kind == "set":
            parts.append(_set_or_literal(token, spelling) if braces else _set(token["negated"], token["set"]))
        else:
            parts.append(_TRANSLATIONS.get(kind) or re.escape(spelling(token["escaped"] or token[0])))
    return "".join(parts)


def _set(negated: str, characters: str) -> str:
    inside = re.sub(r"[\[\]\\^&|~]", r"\\\g<0>", characters)
    return f"[^/{inside}]" if negated else f"[{inside}]"


def _set_or_literal(token: re.Match[str], spelling: Callable[[str], str]) -> str:
    """Return a pattern for the set or the literal name, as in app/[id]/page.tsx; only the latter for an invalid set."""
    name, characters = re.escape(spelling(token[0])), _set(token["negated"], token["set"])
    try:
        re.compile(characters)
    except re.error:
        return name
    return f"(?:{characters}|{name})"


@dataclass(frozen=True, kw_only=True)
class IgnoreRule:
    expression: re.Pattern[str]
    is_negated: bool
    matches_folders_only: bool


def ignore_rules(text: str, folder: str) -> list[IgnoreRule]:
    """Return the rules of the .gitignore in the folder `folder` ("" or "a/b/"). Invalid lines are skipped."""
    return [rule for line in text.splitlines() if (rule := _rule(_TRAILING_SPACES.sub("", line), folder))]


def _rule(line: str, folder: str) -> IgnoreRule | None:
    negated = line.startswith("!")
    pattern = line[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern or line.startswith("#"):
        return None
    try:
        expression = path_pattern(pattern, folder=folder)
    except re.error:  # such as [z-a], which matches nothing in git either
        return None
    return IgnoreRule(expression=expression, is_negated=negated, matches_folders_only=folders_only)


def is_ignored(rules: Sequence[IgnoreRule], path: str, is_folder: bool) -> bool:
    """Return the verdict of the last matching rule. Rules of inner folders come last."""
    for rule in reversed(rules):
        if (is_folder or not rule.matches_folders_only) and rule.expression.fullmatch(path):
            return not rule.is_negated
    return False


@dataclass(frozen=True, kw_only=True)
class MatchRequest:
    """A request to the search process.

    `workspace_names` lead from `root`, which no program can replace, to the workspace, or to a view that appears at
    `view_prefix`. `target_names` lead on to the folder or file to search. `owner` is the user to search as.

    The answer starts with match number `offset` and holds at most `room` bytes, but at least one match. After `seconds`
    the process answers with the results so far. After more than twice that time it ends itself, in case the server has
    died and the pattern never finishes.
    """

    root: str
    workspace_names: tuple[str, ...] = ()
    target_names: tuple[str, ...] = ()
    view_prefix: str = ""
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
class MatchResult:
    """The answer of the search process.

    `lines` contains `shown_matches` of `total_matches`. `is_complete` is False if time ran out. `error` is the reason
    if nothing was searched. `unsearched` names files that could not be searched, one line for each reason. `documents`
    are paths that `in_documents` still has to search.
    """

    lines: list[str]
    shown_matches: int = 0
    total_matches: int = 0
    is_complete: bool = True
    unsearched: Sequence[str] = ()
    documents: Sequence[str] = ()
    error: str = ""
