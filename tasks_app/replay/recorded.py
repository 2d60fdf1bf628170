"""A recorded task as a script: its entries in the context in order, and its replies as results of a model."""

from collections.abc import Sequence
from itertools import takewhile

from llm_app.redaction import Redactor
from llm_app.types import LLMTurnResult, ToolCall
from tasks_app.models import CallStatus, ContextEntry, ContextType
from tasks_app.record import Draft, redact_entry, thinking_of
from tasks_app.run import reminders

_ASIDE = (ContextType.SYSTEM_REMINDER, ContextType.WORKFLOW_STEP)
_FROM_OUTSIDE = (CallStatus.REJECTED, CallStatus.INTERRUPTED, CallStatus.UNKNOWN)

_SHOWN, _BEFORE = 120, 20  # characters from the difference on, and before it


class Divergence(Exception):
    """The engine would now do something else than recorded. The message says where and what."""


class Recorded:
    """A script of entries. People's messages and tools' results are accepted as recorded."""

    def __init__(self, entries: Sequence[ContextEntry], redactor: Redactor) -> None:
        self._entries = [redact_entry(entry, redactor) for entry in entries]
        self._place = 0

    @property
    def next(self) -> ContextEntry | None:
        return self.peek(0)

    def peek(self, ahead: int) -> ContextEntry | None:
        place = self._place + ahead
        return self._entries[place] if place < len(self._entries) else None

    def take(self) -> ContextEntry:
        self._place += 1
        return self._entries[self._place - 1]

    def follow(self, draft: Draft) -> list[ContextEntry]:
        """Advance past the entry that the engine appends as `draft`. Raises Divergence if the recorded entry differs.

        Skips reminders before it that depend on the outside: the date, the budget, available tools.
        """
        taken = []
        while self.next and not _is(self.next, draft) and _is_aside(self.next, draft):
            taken.append(self.take())
        if self.next and _is_closed_from_outside(self.next, draft):
            return [*taken, self.take()]
        if self.next is None or not _is(self.next, draft):
            raise Divergence(_difference(self.next or (self._entries[-1]), draft, is_missing=self.next is None))
        return [*taken, self.take()]


def turn_of(entry: ContextEntry, following: ContextEntry | None) -> LLMTurnResult:
    """Return the model's result that became this entry."""
    thinking = thinking_of(entry)
    if entry.call is None:
        return LLMTurnResult(content=entry.content, thinking=thinking, unreadable=_reason(following))
    others = [_deferred(text) for text in entry.metadata.get("deferred", ())]
    calls = (ToolCall(**entry.call), *others)
    return LLMTurnResult(
        content=entry.content, tool_calls=calls, thinking=thinking, origin=entry.metadata.get("origin", "native")
    )


def _is(entry: ContextEntry, draft: Draft) -> bool:
    return (
        (entry.context_type, entry.content) == (draft.context_type, draft.content)
        and (entry.tool_call, entry.tool_call_id) == (draft.tool_call_text, draft.tool_call_id)
        and thinking_of(entry) == draft.thinking
    )


def _is_aside(entry: ContextEntry, draft: Draft) -> bool:
    """Return whether the entry is a reminder of another kind than the draft."""
    kinds = (entry.context_type, entry.metadata.get("kind")), (draft.context_type, draft.metadata.get("kind"))
    return entry.context_type in _ASIDE and kinds[0] != kinds[1]


def _is_closed_from_outside(entry: ContextEntry, draft: Draft) -> bool:
    """Return whether a person, a crash or a fork ended the call before the engine could answer it."""
    return entry.tool_call_id == draft.tool_call_id != "" and entry.metadata.get("status") in _FROM_OUTSIDE


def _deferred(text: str) -> ToolCall:
    """Parse "name(arguments)"."""
    name, _, rest = text.partition("(")
    return ToolCall(id="", name=name, arguments=rest.removesuffix(")"))


def _reason(following: ContextEntry | None) -> str:
    """Return the reason why a call was unreadable, taken from the reminder that follows."""
    before, after = reminders.unreadable_call("\0").content.split("\0")
    said = following.content if following else ""
    fits = said.startswith(before) and said.endswith(after)
    return said[len(before) : len(said) - len(after)] if fits else ""


def _difference(entry: ContextEntry, draft: Draft, *, is_missing: bool) -> str:
    words = draft.content or draft.tool_call_text
    if is_missing:
        return f"after entry {entry.seq} the record ends, and the engine now appends {_said(draft.context_type, words)}"
    had = entry.content or entry.tool_call
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(had, words, strict=False)))
    start = max(0, same - _BEFORE)
    was, now = _said(entry.context_type, had, start), _said(draft.context_type, words, start)
    return f"entry {entry.seq} was {was}, and now it is {now}"


def _said(context_type: str, text: str, start: int = 0) -> str:
    """Return a type and a one-line excerpt, from shortly before the difference."""
    line = " ".join(text[start : start + _SHOWN + 1].split())
    before, after = "…" if start else "", "…" if len(text) > start + _SHOWN else ""
    return f"{context_type} “{before}{line}{after}”"
