"""Turns: entries that belong together, between which compaction may cut. Does no I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from tasks_app.models import ContextType


class TurnEntry(Protocol):
    """The fields of an entry that grouping reads."""

    context_type: Any  # a string or a ContextType
    tool_call_id: Any
    role: Any

    @property
    def call(self) -> dict[str, str] | None: ...


TurnEntryT = TypeVar("TurnEntryT", bound=TurnEntry)
_FOLLOWING = (ContextType.SYSTEM_REMINDER, ContextType.WORKFLOW_STEP, ContextType.HANDOFF)


class TurnKind(Enum):
    USER = "user"  # a person's message, with the reminders directly after it
    CALL = "call"  # a tool call, its result, and the reminders directly after it
    REPLY = "reply"  # text of the model without a call
    NOTE = "note"  # a reminder or a workflow step that follows nothing


@dataclass(frozen=True)
class Turn(Generic[TurnEntryT]):
    """Entries that are sent together or not at all."""

    kind: TurnKind
    entries: Sequence[TurnEntryT]

    @property
    def is_open(self) -> bool:
        """Return whether this is a call without a result. Only the last turn of a record can be open."""
        return self.kind is TurnKind.CALL and not any(
            entry.context_type == ContextType.TOOL_RESULT for entry in self.entries
        )


def group(entries: Iterable[TurnEntryT]) -> list[Turn[TurnEntryT]]:
    """Return the turns of the entries in the context, oldest first.

    All entries stay, in order, and a call stays with its result. Appending changes only the last turn. Raises
    ValueError for a result without its call, which `append` never writes.
    """
    turns: list[tuple[TurnKind, list[TurnEntryT]]] = []
    open_call = ""
    for entry in entries:
        if open_call and entry.tool_call_id != open_call:
            raise ValueError(f"{entry.context_type} comes between a call and its result")
        if entry.context_type == ContextType.TOOL_RESULT:
            if not open_call:
                raise ValueError(f"the result of {entry.tool_call_id} has no call")
            turns[-1][1].append(entry)
            open_call = ""
        elif entry.context_type in _FOLLOWING and turns:
            turns[-1][1].append(entry)
        else:
            turns.append((_kind(entry), [entry]))
            open_call = entry.call["id"] if entry.call else ""
    return [Turn(kind, tuple(members)) for kind, members in turns]


def _kind(entry: TurnEntry) -> TurnKind:
    if entry.call:
        return TurnKind.CALL
    is_history = entry.context_type == ContextType.CLIENT_HISTORY
    if entry.context_type == ContextType.USER_MESSAGE or (is_history and entry.role == "user"):
        return TurnKind.USER
    return TurnKind.NOTE if entry.context_type in _FOLLOWING else TurnKind.REPLY
