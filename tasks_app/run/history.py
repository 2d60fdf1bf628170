"""The part of a session that the LLM sees: one conversation over all its tasks, in memory while a task runs."""

from collections.abc import Iterable, Iterator
from typing import Any

from llm_app.models import Blob
from llm_app.sql import cached_sql, fetch_all
from llm_app.types import Message
from tasks_app.models import ContextCut, ContextEntry, ContextType, Session
from tasks_app.models.entry import EntryQuerySet
from tasks_app.record import Cut, RequestMessages, images, message_of
from tasks_app.run.open_call import OpenCall, open_call_in


class History:
    """The entries in the context after the cut, oldest first, with their messages, which are built once.

    `newest` is the last entry of each type and of each kind of reminder. Entries before the cut are not in memory;
    `has_cut` says whether there is one. `left_out` are ranges of entries that a provider's filter refused: they are no
    part of the history. `call_ids` are the ids of all calls so far: a provider may repeat an id.
    """

    def __init__(self, session: Session, left_out: Iterable[tuple[int, int]] | None = None) -> None:
        self.session = session
        self.left_out = [(first, last) for first, last in (session.left_out if left_out is None else left_out)]
        self.entries: list[ContextEntry] = []
        self.newest: dict[str, ContextEntry] = {}
        self.call_ids: set[str] = set()
        self.has_cut = False
        self._messages: list[Message] = []
        self._cut_seq = 0  # entries up to this seq are not in memory
        self._conversations: dict[int, RequestMessages] = {}

    @classmethod
    def load(cls, session: Session) -> "History":
        history = cls(session)
        newest = ContextCut.objects.newest_in(session.pk)
        if newest and history.left_out:
            newest = ContextCut.objects.in_session(session).without(history.left_out).first()
        if newest:
            history.has_cut, history._cut_seq = True, newest.seq
        if newest or history.left_out:
            results = ContextEntry.objects.in_session(session).filter(context_type=ContextType.TOOL_RESULT)
            history.call_ids.update(results.values_list("tool_call_id", flat=True))
        history.extend(_entries_after(session.pk, history._cut_seq))
        return history

    def extend(self, entries: Iterable[ContextEntry]) -> None:
        """Add entries that were appended to the record."""
        for entry, message in _with_messages(self._without_left_out(entries)):
            self.entries.append(entry)
            self.newest |= dict.fromkeys(kinds_of(entry), entry)
            self._messages.append(message)
            if message.tool_call:
                self.call_ids.add(message.tool_call.id)
            for conversation in self._conversations.values():
                conversation.add(entry, message)

    def _without_left_out(self, entries: Iterable[ContextEntry]) -> Iterable[ContextEntry]:
        if not self.left_out:
            return entries
        return [entry for entry in entries if not any(first <= entry.seq <= last for first, last in self.left_out)]

    def conversation(self, window: int) -> RequestMessages:
        """Return the conversation as models with this window see it: from their newest cut on, or the entire record."""
        if window not in self._conversations:
            self._open_conversation(window, self._stored_cut(window))
        return self._conversations[window]

    def set_cut(self, window: int, cut: Cut) -> RequestMessages:
        """Set the cut for models with this window."""
        self.has_cut = True
        conversation = self._open_conversation(window, cut)
        oldest_cut = min(other.cut.seq for other in self._conversations.values())
        positions_after = (position for position, entry in enumerate(self.entries) if entry.seq > oldest_cut)
        first_index = next(positions_after, len(self.entries))
        del self.entries[:first_index], self._messages[:first_index]
        self.newest = newest_of(self.entries)
        self._cut_seq = max(self._cut_seq, oldest_cut)
        return conversation

    def record(self) -> list[ContextEntry]:
        """Return all entries in the context. Those before the cut are read again, without thinking."""
        earlier = self._entries_before_cut() if self._cut_seq else ContextEntry.objects.none()
        return [*earlier.defer("thinking", "hash", "hash_key"), *self.entries]

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0

    def open_call(self) -> OpenCall | None:
        """Return the call that still waits for its result, if any.

        After an approval, a crash or a restart it goes first.

        It is the newest entry: nothing ever comes between a call and its result.
        """
        newest = self.entries[-1] if self.entries else None
        return open_call_in(newest) if newest is not None and newest.has_call else None

    def retries_in_a_row(self) -> int:
        """Return how many of the newest replies had no tool call, or one that was cut at the output limit."""
        count = 0
        for entry in self._newest_first():
            if entry.context_type == ContextType.NO_TOOL_CALL_RETRY or entry.is_cut:
                count += 1
            elif entry.context_type not in (ContextType.SYSTEM_REMINDER, ContextType.TOOL_RESULT):
                break
        return count

    def _newest_first(self) -> Iterator[ContextEntry]:
        """Yield the entries, newest first. Those before the cut cost a query when they are reached."""
        yield from reversed(self.entries)
        if self._cut_seq:
            yield from self._entries_before_cut().reverse().iterator(chunk_size=20)

    def _entries_before_cut(self) -> EntryQuerySet:
        return _entries(self.session).filter(seq__lte=self._cut_seq).without(self.left_out)

    def _stored_cut(self, window: int) -> Cut:
        if not self.has_cut:
            return Cut()
        rows = ContextCut.objects.in_session(self.session).filter(window=window).without(self.left_out)
        if (row := rows.first()) is None:
            return Cut()
        return Cut.from_text(row.seq, Blob.objects.get(pk=row.blob).content, row.masked_with)

    def _open_conversation(self, window: int, cut: Cut) -> RequestMessages:
        self._load_after(cut.seq)
        conversation = self._conversations[window] = RequestMessages(
            cut.without(self.left_out) if self.left_out else cut
        )
        for entry, message in zip(self.entries, self._messages, strict=True):
            if entry.seq > cut.seq:
                conversation.add(entry, message)
        return conversation

    def _load_after(self, seq: int) -> None:
        """Read the entries after `seq` that are not in memory."""
        if seq >= self._cut_seq:
            return
        rows = self._entries_before_cut().after(seq)
        for position, (entry, message) in enumerate(_with_messages(rows)):
            self.entries.insert(position, entry)
            self._messages.insert(position, message)
        self.newest = newest_of(self.entries)
        self._cut_seq = seq


def kinds_of(entry: ContextEntry) -> list[str]:
    """Return the entry's type, and its kind if it is a reminder."""
    is_reminder = entry.context_type == ContextType.SYSTEM_REMINDER
    return [entry.context_type, *([entry.metadata["kind"]] if is_reminder and "kind" in entry.metadata else [])]


def newest_of(entries: Iterable[ContextEntry]) -> dict[str, ContextEntry]:
    """Return the last entry of each kind."""
    return {kind: entry for entry in entries for kind in kinds_of(entry)}


@cached_sql
def _entries_after(session: Any, seq: int) -> list[ContextEntry]:
    return fetch_all(_entries(session).after(seq))


def _entries(session: Session) -> EntryQuerySet:
    return ContextEntry.objects.in_session(session).in_context()


def _with_messages(entries: Iterable[ContextEntry]) -> list[tuple[ContextEntry, Message]]:
    """Return the entries that are in the context, with their messages."""
    entries = [entry for entry in entries if entry.in_context]
    blobs = images.contents(entries)
    return [(entry, message_of(entry, blobs)) for entry in entries]
