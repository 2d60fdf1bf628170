"""A recorded task as a script: its entries in the context in order, and its replies as results of a model."""

from collections.abc import Sequence
from itertools import takewhile

from llm_app.redaction import Redactor
from llm_app.types import LLMTurnResult, ToolCall
from tasks_app.models import CallStatus, ContextEntry, ContextType
from tasks_app.record import Draft, redact_entry, thinking_of
from tasks_app.run import reminders

_REMINDERS = (ContextType.SYSTEM_REMINDER, ContextType.WORKFLOW_STEP)
_FROM_OUTSIDE = (CallStatus.REJECTED, CallStatus.INTERRUPTED, CallStatus.UNKNOWN)

_EXCERPT_CHARS, _CONTEXT_CHARS = 120, 20  # characters from the difference on, and before it


class Divergence(Exception):
    """The engine would now do something else than recorded. The message says where and what."""


class RecordedScript:
    """A script of entries. People's messages and tools' results are accepted as recorded."""

    def __init__(self, entries: Sequence[ContextEntry], redactor: Redactor) -> None:
        self._entries = [redact_entry(entry, redactor) for entry in entries]
        self._position = 0

    @property
    def next(self) -> ContextEntry | None:
        return self.peek(0)

    def peek(self, ahead: int) -> ContextEntry | None:
        position = self._position + ahead
        return self._entries[position] if position < len(self._entries) else None

    def take(self) -> ContextEntry:
        self._position += 1
        return self._entries[self._position - 1]

    def follow(self, draft: Draft) -> list[ContextEntry]:
        """Advance past the entry that the engine appends as `draft`. Raises Divergence if the recorded entry differs.

        Skips reminders before it that depend on the outside: the date, the budget, available tools.
        """
        entries = []
        while self.next and not _matches(self.next, draft) and _is_other_reminder(self.next, draft):
            entries.append(self.take())
        if self.next and _is_closed_from_outside(self.next, draft):
            return [*entries, self.take()]
        if self.next is None or not _matches(self.next, draft):
            raise Divergence(_difference(self.next or (self._entries[-1]), draft, is_missing=self.next is None))
        return [*entries, self.take()]


def turn_of(entry: ContextEntry, following: ContextEntry | None) -> LLMTurnResult:
    """Return the model's result that became this entry."""
    thinking = thinking_of(entry)
    if entry.call is None:
        was_cut = entry.is_cut or (following is not None and following.metadata.get("kind") == "cut_reply")
        return LLMTurnResult(
            content=entry.content,
            thinking=thinking,
            unreadable=_unreadable_reason(following),
            finish_reason="length" if was_cut else "",
        )
    calls = [ToolCall(**entry.call)]
    for text in entry.metadata.get("deferred", ()):  # "name(arguments)"
        name, _, rest = text.partition("(")
        calls.append(ToolCall(id="", name=name, arguments=rest.removesuffix(")")))
    return LLMTurnResult(
        content=entry.content,
        tool_calls=tuple(calls),
        thinking=thinking,
        origin=entry.metadata.get("origin", "native"),
        finish_reason="length" if entry.is_cut else "",
    )


def _matches(entry: ContextEntry, draft: Draft) -> bool:
    return (
        (entry.context_type, entry.content) == (draft.context_type, draft.content)
        and (entry.tool_call, entry.tool_call_id) == (draft.tool_call_text, draft.tool_call_id)
        and thinking_of(entry) == draft.thinking
    )


def _is_other_reminder(entry: ContextEntry, draft: Draft) -> bool:
    """Return whether the entry is a reminder of another kind than the draft."""
    kinds = (entry.context_type, entry.metadata.get("kind")), (draft.context_type, draft.metadata.get("kind"))
    return entry.context_type in _REMINDERS and kinds[0] != kinds[1]


def _is_closed_from_outside(entry: ContextEntry, draft: Draft) -> bool:
    """Return whether a person, a crash or a fork ended the call before the engine could answer it."""
    return entry.tool_call_id == draft.tool_call_id != "" and entry.metadata.get("status") in _FROM_OUTSIDE


def _unreadable_reason(following: ContextEntry | None) -> str:
    """Return the reason why a call was unreadable, taken from the reminder that follows."""
    before, after = reminders.unreadable_call("\0").content.split("\0")
    text = following.content if following else ""
    is_reminder = text.startswith(before) and text.endswith(after)
    return text[len(before) : len(text) - len(after)] if is_reminder else ""


def _difference(entry: ContextEntry, draft: Draft, *, is_missing: bool) -> str:
    new_text = draft.content or draft.tool_call_text
    if is_missing:
        appended = _excerpt(draft.context_type, new_text)
        return f"after entry {entry.seq} the record ends, and the engine now appends {appended}"
    old_text = entry.content or entry.tool_call
    common_length = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old_text, new_text, strict=False)))
    start = max(0, common_length - _CONTEXT_CHARS)
    old, new = _excerpt(entry.context_type, old_text, start), _excerpt(draft.context_type, new_text, start)
    return f"entry {entry.seq} was {old}, and now it is {new}"


def _excerpt(context_type: str, text: str, start: int = 0) -> str:
    """Return a type and a one-line excerpt, from shortly before the difference."""
    line = " ".join(text[start : start + _EXCERPT_CHARS + 1].split())
    before, after = "…" if start else "", "…" if len(text) > start + _EXCERPT_CHARS else ""
    return f"{context_type} “{before}{line}{after}”"
