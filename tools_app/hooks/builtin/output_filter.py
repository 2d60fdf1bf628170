"""Withholds a whole result, or a whole message, in which something is found that must not be seen. Rewrites nothing."""

import json
import re
from collections.abc import Iterable

from tools_app.hooks.base import Call, Hook, HookContext, Outcome, Refuse


class OutputFilter(Hook):
    """`patterns` are regular expressions; the model learns the number of the one that was found, not its text."""

    name = "output filter"
    filters_output = True

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [re.compile(pattern) for pattern in patterns]

    def before_execution(self, call: Call, around: HookContext) -> Refuse | None:
        if call.tool != "message":
            return None
        return self._found(json.dumps(dict(call.arguments), ensure_ascii=False), *_texts(call.arguments), call.words)

    def after_execution(self, call: Call, outcome: Outcome, around: HookContext) -> Refuse | None:
        return self._found(outcome.content)

    def _found(self, *texts: str) -> Refuse | None:
        for number, pattern in enumerate(self._patterns, 1):
            if any(pattern.search(text) for text in texts):
                return Refuse(reason=f"it holds what must not be seen here (pattern {number}).")
        return None


def _texts(arguments: "object") -> Iterable[str]:
    """As they are, too: JSON writes line breaks and quotes in another way."""
    values = arguments.values() if isinstance(arguments, dict) else ()
    return [value for value in values if isinstance(value, str)]
