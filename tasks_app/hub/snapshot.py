"""A session's rows as of the last refresh, read, redacted and rendered once for all subscribers in this process."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models.expressions import RawSQL

from llm_app import active_secrets
from llm_app.redaction import Redactor
from llm_app.sql.composed_query import Select
from tasks_app.hub import new_entries
from tasks_app.hub.fragments import Moment, Pieces
from tasks_app.hub.updates import Appended, Event, Guest, News
from tasks_app.models import ContextEntry, Session, Task
from tasks_app.pages.fragments import Viewer
from tasks_app.record import redact_entries, redact_entry, transcript
from tasks_app.record.activity import Activity
from tasks_app.record.item import Item
from tasks_app.runtime import broadcast

PAGE = 500  # entries of one page of a backlog
PAGE_CHARS = 128 * 1024  # in one page: a slow reader holds one page in memory
_session = Select(lambda pk: Session.objects.filter(pk=pk))
_newest_task: Select[Any] = Select(
    lambda session: (
        Task.objects.filter(session=session)
        .select_related("session")
        .annotate(settings_version=RawSQL("(SELECT version FROM settings_version)", []))[:1]
    )
)
_entries_after = Select(
    lambda session, seq: transcript.with_logs(ContextEntry.objects.in_session(session)).after(seq)[:PAGE]
)


class SessionGone(Exception):
    """The session is deleted, or no longer shared with this user."""


def backlog(session_id: UUID, guest: Guest, after: int, until: int, *, renders: bool) -> tuple[News, Viewer]:
    """Return one page of missed entries, with their HTML if `renders`, and the viewer.

    Raises: SessionGone.
    """
    session = Session.objects.visible_to(guest.user).filter(pk=session_id).first()
    if session is None:
        raise SessionGone()
    entries = redact_entries(session, _page(session, after, until))
    viewer = Viewer(guest.user, _rights(session).get(guest.user.pk, False), False, guest.language)
    items: Mapping[Viewer, str] = {}
    if renders and entries:
        activity = transcript.activity_at(session, entries[0].seq - 1)
        found, _ = new_entries.pushed(session, new_entries.items_of_new(session, entries, None), entries, activity)
        items = {viewer: found.seen_by(viewer)}
    return News(appended=list(map(Appended, entries)), items=items), viewer


def _page(session: Session, after: int, until: int) -> list[ContextEntry]:
    """Return at least one entry if there is one, and no more after `PAGE_CHARS` characters."""
    page: list[ContextEntry] = []
    rows = ContextEntry.objects.in_session(session).after(after).filter(seq__lte=until)
    for entry in rows[:PAGE].iterator(chunk_size=50):
        page.append(entry)
        if sum(len(one.content) for one in page) > PAGE_CHARS:
            break
    return page


def _rights(session: Session) -> dict[int, bool]:
    """Return the ids of users who can see the session, with their write permission."""
    return Session.objects.filter(pk=session.pk).rights().get(session.pk, {})


class Look:
    """The state of a session as of the last refresh. Refreshes run in threads, one at a time.

    `seq` is the last entry read, `rights` maps users to their write permission, `task` is the newest task.
    `rights_may_differ` is also set by the hub, before or during a refresh.
    """

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self.seq: int | None = None
        self.rights: dict[int, bool] = {}
        self.rights_may_differ = True
        self.task: Any = None  # annotated with the version of the settings
        self.pieces = Pieces()
        self._activity: Activity | None = None  # the open group of steps
        self._activity_at: int | None = None  # the last entry in it
        self._redactor: tuple[object, Redactor] | None = None  # with the key it was built for

    def again(self, guests: Iterable[Guest], *, inbox: bool, newcomers: bool) -> News:
        """Return the changes since the last refresh, rendered for the `guests` with pages.

        `inbox` says that waiting messages may have changed. `newcomers` says that some pages have no fragments yet.

        Raises: SessionGone.
        """
        session, self.task = self._session_with_task()
        if newcomers or self.rights_may_differ:
            self.rights_may_differ = False  # reset first: a change during the read sets it again
            self.rights = _rights(session)
        entries = self._new_entries(session)
        state = Event({"type": "state", **broadcast.state_of(self.task)}) if self.task else None
        viewers = {viewer for guest in guests if (viewer := self.viewer_of(guest)) is not None}
        news: dict[str, Any] = {"appended": list(map(Appended, entries)), "state": state}
        if viewers:
            news |= self._rendered(session, entries, viewers, inbox=inbox, newcomers=newcomers)
        else:
            self._forget_pages()
        return News(**news)

    def _session_with_task(self) -> tuple[Session, Any]:
        """Return the session and its newest task from one query, so that an end never precedes its last entry."""
        if task := _newest_task.first(self._session_id):
            return task.session, task
        if session := _session.first(self._session_id):
            return session, None
        raise SessionGone()

    def viewer_of(self, guest: Guest) -> Viewer | None:
        """Return the viewer as of the last refresh, or None if the user cannot see the session."""
        user, language = guest
        if user.pk not in self.rights:
            return None
        is_starter = self.task is not None and self.task.started_by_id == user.pk
        return Viewer(user, self.rights[user.pk], is_starter, language)

    def is_recorded(self, stream: str) -> bool:
        """Return whether the streamed text is already in an entry."""
        return ContextEntry.objects.filter(session=self._session_id, metadata__stream=stream).exists()

    def _new_entries(self, session: Session) -> list[ContextEntry]:
        if self.seq is None:
            self.seq = session.last_seq
        if session.last_seq == self.seq:
            return []
        entries, redactor = _entries_after.rows(session.pk, self.seq), self._redactor_now()
        for entry in entries:
            entry.session = session
        self.seq = entries[-1].seq
        # Rendered again, without values that have become secret since.
        if self.pieces.call is not None:
            self.pieces.call = redact_entry(self.pieces.call, redactor)
        if self._activity is not None:
            self._activity.redact(partial(redact_entry, redactor=redactor))
        return [redact_entry(entry, redactor) for entry in entries]

    def _redactor_now(self) -> Redactor:
        """Return a redactor for the secrets of all writers, built again only if a secret or a writer may have changed.

        The version of the settings counts the changes of secrets. It is read before them, and unknown without a task.
        """
        writers = frozenset(user for user, may_write in self.rights.items() if may_write)
        known = self.task and (self.task.settings_version, writers)
        if self._redactor is None or known is None or self._redactor[0] != known:
            self._redactor = known, active_secrets.of_people(writers).redactor
        return self._redactor[1]

    # --- pages --------------------------------------------------------------------------------------------------

    def _forget_pages(self) -> None:
        """Drop the rendered fragments: the next page gets all of them."""
        self.pieces = Pieces()
        self._activity = self._activity_at = None

    def _rendered(
        self, session: Session, entries: Sequence[ContextEntry], viewers: set[Viewer], *, inbox: bool, newcomers: bool
    ) -> dict[str, Any]:
        items, seq = new_entries.items_of_new(session, entries, self.pieces.call), self.seq or 0
        found = Moment(session=session, task=self.task, entries=entries, items=items, seq=seq)
        self.pieces.draw(found, inbox=inbox, newcomers=newcomers)
        whole, changed = self.pieces.seen_by(viewers)
        return {"items": self._appended(session, items, entries, viewers), "whole": whole, "changed": changed}

    def _appended(
        self, session: Session, items: Sequence[Item], entries: Sequence[ContextEntry], viewers: Iterable[Viewer]
    ) -> Mapping[Viewer, str]:
        if not entries:
            return {}
        if self._activity_at != entries[0].seq - 1:
            self._activity = transcript.activity_at(session, entries[0].seq - 1)
        found, self._activity = new_entries.pushed(session, items, entries, self._activity)
        self._activity_at = entries[-1].seq
        return {viewer: found.seen_by(viewer) for viewer in viewers}
