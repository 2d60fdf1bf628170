"""Shorter forms of old results, where an agent wants them: pure, and sent only from a move of the cut on."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from tasks_app.engine.compaction.kinds import kind_of
from tasks_app.engine.compaction.lines import Template
from tasks_app.models import ContextEntry, ContextType
from tasks_app.record import tokens
from tasks_app.record.turns import group

PROTECTED = 40_000  # tokens of the newest outputs that pruning leaves as they are
NEWEST_TURNS = 4  # whose results are not shortened


def pruned(entries: Sequence[ContextEntry], template: Template, protected: int = PROTECTED) -> dict[int, str]:
    """All outputs but the newest: which call gives each again."""
    views: dict[int, str] = {}
    for call, result in reversed(list(_calls(entries))):
        protected -= tokens.estimate(result.content)
        if protected < 0:
            again = " ".join(template((call.call or {})["name"], _arguments(call)).split())
            views |= _if_shorter(result, f"[pruned, read again by {again[:200]}, or recall {result.seq}]")
    return views


def shortened(entries: Sequence[ContextEntry]) -> dict[int, str]:
    """Results older than the newest turns: how long they were, and of what kind."""
    old = [entry for turn in group(entries)[:-NEWEST_TURNS] for entry in turn.entries]
    views: dict[int, str] = {}
    for call, result in _calls(old):
        kind = kind_of(str(_arguments(call).get("path", "")), result.content)
        size, lines = len(result.content.encode(errors="replace")), result.content.count("\n") + 1
        status = result.metadata.get("status", "")
        view = f"[{status}: returned {size:,} bytes, {lines:,} lines of {kind}; recall {result.seq}]"
        views |= _if_shorter(result, view)
    return views


def _calls(entries: Sequence[ContextEntry]) -> Iterator[tuple[ContextEntry, ContextEntry]]:
    """Each tool call with its result. What was said to people is no output."""
    for call, result in pairwise(entries):
        if call.context_type == ContextType.TOOL_CALL and result.context_type == ContextType.TOOL_RESULT:
            yield call, result


def _arguments(call: ContextEntry) -> dict[str, object]:
    return call.arguments if isinstance(call.arguments, dict) else {}


def _if_shorter(result: ContextEntry, view: str) -> dict[int, str]:
    return {result.seq: view} if tokens.estimate(view) < tokens.estimate(result.content) else {}
