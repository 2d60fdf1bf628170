"""Rules of .gitignore files: https://git-scm.com/docs/gitignore."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tools_app.matching.patterns import compiled

_END = re.compile(r"(?<!\\)\s+$")  # spaces at the end count only if they are escaped


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
        expression = compiled(pattern, beneath=beneath)
    except re.error:  # such as [z-a]: git matches nothing with it either
        return None
    return Rule(expression=expression, negated=negated, folders_only=folders_only)


def is_ignored(rules: Sequence[Rule], path: str, is_folder: bool) -> bool:
    """The last rule that matches decides; those of inner folders come last."""
    for rule in reversed(rules):
        if (is_folder or not rule.folders_only) and rule.expression.fullmatch(path):
            return not rule.negated
    return False
