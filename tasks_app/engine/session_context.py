"""What of a session the LLM sees: one conversation over all its tasks, held in memory while a task runs."""

from collections.abc import Iterable, Sequence

from llm_app.types import Message
from tasks_app.engine import pictures, turns
from tasks_app.engine.serialize import message_of
from tasks_app.models import ContextEntry, ContextType, Session


class SessionContext:
    """`entries` are those in the context, oldest first; each has its message, whose bytes are made once.

    `call_ids` are the ids of all calls so far: a provider may give one twice.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.entries: list[ContextEntry] = []
        self.call_ids: set[str] = set()
        self._messages: list[Message] = []

    @classmethod
    def load(cls, session: Session) -> "SessionContext":
        context = cls(session)
        context.extend(ContextEntry.objects.of(session).in_context())
        return context

    def extend(self, entries: Iterable[ContextEntry]) -> None:
        """Takes what was appended to the record."""
        entries = [entry for entry in entries if entry.in_context]
        blobs = pictures.contents(entries)
        for entry in entries:
            self.entries.append(entry)
            self._messages.append(message_of(entry, blobs))
            if entry.call:
                self.call_ids.add(entry.call["id"])

    def messages(self) -> Sequence[Message]:
        return self._messages

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0

    def open_call(self) -> ContextEntry | None:
        """The newest entry, if it is a call: nothing ever comes between a call and its result."""
        return self.entries[-1] if self.entries and self.entries[-1].tool_call else None

    def turns(self) -> list[turns.Turn[ContextEntry]]:
        return turns.group(self.entries)

    def retries_in_a_row(self) -> int:
        """How many of the newest replies had no tool call."""
        count = 0
        for entry in reversed(self.entries):
            if entry.context_type == ContextType.NO_TOOL_CALL_RETRY:
                count += 1
            elif entry.context_type != ContextType.SYSTEM_REMINDER:
                break
        return count
