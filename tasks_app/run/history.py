"""The part of a session that the LLM sees: one conversation over all its tasks, in memory while a task runs."""

from collections.abc import Iterable, Iterator

from llm_app.models import Blob
from llm_app.sql.composed_query import Select
from llm_app.types import Message
from tasks_app.models import ContextCut, ContextEntry, ContextType, Session
from tasks_app.models.entry import EntryQuerySet
from tasks_app.record import Conversation, Cut, images, message_of
from tasks_app.run.open_call import OpenCall, open_call_in


class History:
    """`entries` are those in the context behind the cut, oldest first; each has its message, whose bytes are made once.
    `newest` is the last of them of each type, and of each kind of reminder.

    What is before the cut is not in memory; `has_cut` says whether there is one. `call_ids` are the ids of all calls so
    far: a provider may give one twice.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.entries: list[ContextEntry] = []
        self.newest: dict[str, ContextEntry] = {}
        self.call_ids: set[str] = set()
        self.has_cut = False
        self._messages: list[Message] = []
        self._before = 0  # entries up to this seq are not in memory
        self._conversations: dict[int, Conversation] = {}

    @classmethod
    def load(cls, session: Session) -> "History":
        history = cls(session)
        if newest := _newest_cut.first(session.pk):
            history.has_cut, history._before = True, newest.seq
            history.call_ids.update(_results(session).values_list("tool_call_id", flat=True))
        history.extend(_entries_after.rows(session.pk, history._before))
        return history

    def extend(self, entries: Iterable[ContextEntry]) -> None:
        """Takes what was appended to the record."""
        for entry, message in _with_messages(entries):
            self.entries.append(entry)
            self.newest |= dict.fromkeys(kinds_of(entry), entry)
            self._messages.append(message)
            if message.tool_call:
                self.call_ids.add(message.tool_call.id)
            for conversation in self._conversations.values():
                conversation.add(entry, message)

    def conversation(self, window: int) -> Conversation:
        """What models with this window see: by the newest cut that was made for it, else the whole record."""
        if window not in self._conversations:
            self._open(window, self._stored_cut(window))
        return self._conversations[window]

    def move(self, window: int, cut: Cut) -> Conversation:
        """From now on, models with this window see the session by `cut`."""
        self.has_cut = True
        conversation = self._open(window, cut)
        self._forget_before(min(other.cut.seq for other in self._conversations.values()))
        return conversation

    def record(self) -> list[ContextEntry]:
        """All entries in the context from the first one on. Those before the cut are read anew, without thinking."""
        before = _entries(self.session).filter(seq__lte=self._before) if self._before else ContextEntry.objects.none()
        return [*before.defer("thinking", "hash", "hash_key"), *self.entries]

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0

    def open_call(self) -> OpenCall | None:
        """The call that still waits for its result: after an approval, a crash or a restart it goes first.

        It is the newest entry: nothing ever comes between a call and its result.
        """
        newest = self.entries[-1] if self.entries else None
        return open_call_in(newest) if newest is not None and newest.tool_call else None

    def retries_in_a_row(self) -> int:
        """How many of the newest replies had no tool call."""
        count = 0
        for entry in self._newest_first():
            if entry.context_type == ContextType.NO_TOOL_CALL_RETRY:
                count += 1
            elif entry.context_type != ContextType.SYSTEM_REMINDER:
                break
        return count

    def _newest_first(self) -> Iterator[ContextEntry]:
        """Also those before the cut; a query only for who goes so far back."""
        yield from reversed(self.entries)
        if self._before:
            yield from _entries(self.session).filter(seq__lte=self._before).reverse().iterator(chunk_size=20)

    def _stored_cut(self, window: int) -> Cut:
        row = ContextCut.objects.in_session(self.session).filter(window=window).first() if self.has_cut else None
        if row is None:
            return Cut()
        return Cut.from_text(row.seq, Blob.objects.get(pk=row.blob).content, row.masked_with)

    def _open(self, window: int, cut: Cut) -> Conversation:
        self._reach_back(cut.seq)
        conversation = self._conversations[window] = Conversation(cut)
        for entry, message in zip(self.entries, self._messages, strict=True):
            if entry.seq > cut.seq:
                conversation.add(entry, message)
        return conversation

    def _reach_back(self, seq: int) -> None:
        """Reads what is behind `seq` and not in memory."""
        if seq >= self._before:
            return
        missing = _entries(self.session).after(seq).filter(seq__lte=self._before)
        for place, (entry, message) in enumerate(_with_messages(missing)):
            self.entries.insert(place, entry)
            self._messages.insert(place, message)
        self.newest = newest_of(self.entries)
        self._before = seq

    def _forget_before(self, seq: int) -> None:
        keep = next((place for place, entry in enumerate(self.entries) if entry.seq > seq), len(self.entries))
        del self.entries[:keep], self._messages[:keep]
        self.newest = newest_of(self.entries)
        self._before = max(self._before, seq)


def kinds_of(entry: ContextEntry) -> list[str]:
    """Its type, and what kind of reminder it is, if it is one."""
    is_reminder = entry.context_type == ContextType.SYSTEM_REMINDER
    return [entry.context_type, *([entry.metadata["kind"]] if is_reminder and "kind" in entry.metadata else [])]


def newest_of(entries: Iterable[ContextEntry]) -> dict[str, ContextEntry]:
    """The last one of each kind."""
    return {kind: entry for entry in entries for kind in kinds_of(entry)}


_newest_cut = Select(lambda session: ContextCut.objects.in_session(session)[:1])
_entries_after = Select(lambda session, seq: _entries(session).after(seq))


def _entries(session: Session) -> EntryQuerySet:
    return ContextEntry.objects.in_session(session).in_context()


def _results(session: Session) -> EntryQuerySet:
    return ContextEntry.objects.in_session(session).filter(context_type=ContextType.TOOL_RESULT)


def _with_messages(entries: Iterable[ContextEntry]) -> list[tuple[ContextEntry, Message]]:
    """Those of the entries that are in the context."""
    entries = [entry for entry in entries if entry.in_context]
    blobs = images.contents(entries)
    return [(entry, message_of(entry, blobs)) for entry in entries]
