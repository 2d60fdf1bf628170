"""A session's rows as of the last refresh, read, redacted and rendered once for all subscribers in this process."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models.expressions import RawSQL

from llm_app import active_secrets
from llm_app.redaction import Redactor
from llm_app.sql import cached_sql, fetch_all, fetch_first
from tasks_app.hub import new_entries
from tasks_app.hub.live_fragments import PageFragments, RefreshedRows
from tasks_app.hub.updates import AppendedEntry, Event, SubscriberIdentity, Update
from tasks_app.models import ContextEntry, Session, Task
from tasks_app.pages.fragments import Viewer
from tasks_app.record import redact_entries, redact_entry, transcript
from tasks_app.record.activity import Activity
from tasks_app.record.item import Item
from tasks_app.runtime import broadcast

BACKLOG_ENTRIES = 500  # entries of one page of a backlog
BACKLOG_CHARS = 128 * 1024  # in one page: a slow reader holds one page in memory


@cached_sql
def _newest_task(session: UUID) -> Any:
    """Return the session's newest task with the session and the current version of the settings."""
    tasks = Task.objects.filter(session=session).select_related("session")
    return fetch_first(tasks.annotate(settings_version=RawSQL("(SELECT version FROM settings_version)", [])))


@cached_sql
def _entries_after(session: Any, seq: int) -> list[ContextEntry]:
    return fetch_all(transcript.with_logs(ContextEntry.objects.in_session(session)).after(seq)[:BACKLOG_ENTRIES])


class SessionGone(Exception):
    """The session is deleted, or no longer shared with this user."""


def backlog(
    session_id: UUID, identity: SubscriberIdentity, after: int, until: int, *, with_html: bool
) -> tuple[Update, Viewer]:
    """Return one page of missed entries, with their HTML if `with_html`, and the viewer.

    Raises: SessionGone.
    """
    session = Session.objects.visible_to(identity.user).filter(pk=session_id).first()
    if session is None:
        raise SessionGone()
    entries = redact_entries(session, _page(session, after, until))
    viewer = Viewer(identity.user, _read_rights(session).get(identity.user.pk, False), False, identity.language)
    items: Mapping[Viewer, str] = {}
    if with_html and entries:
        activity = transcript.activity_at(session, entries[0].seq - 1)
        new_items = new_entries.items_of_new(session, entries, None)
        fragment, _ = new_entries.items_fragment(session, new_items, entries, activity)
        items = {viewer: fragment.render_for(viewer)}
    return Update(appended=list(map(AppendedEntry, entries)), items=items), viewer


def _page(session: Session, after: int, until: int) -> list[ContextEntry]:
    """Return at least one entry if there is one, and no more after `BACKLOG_CHARS` characters."""
    page: list[ContextEntry] = []
    chars = 0
    rows = ContextEntry.objects.in_session(session).after(after).filter(seq__lte=until)
    for entry in rows[:BACKLOG_ENTRIES].iterator(chunk_size=50):
        page.append(entry)
        chars += len(entry.content)
        if chars > BACKLOG_CHARS:
            break
    return page


def _read_rights(session: Session) -> dict[int, bool]:
    """Return the ids of users who can see the session, with their write permission."""
    return Session.objects.filter(pk=session.pk).rights().get(session.pk, {})


class SessionSnapshot:
    """The state of a session as of the last refresh. Refreshes run in threads, one at a time.

    `seq` is the last entry read, `rights` maps users to their write permission, `task` is the newest task.
    `needs_rights` says that the rights may have changed: the hub also sets it, before or during a refresh.
    """

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self.seq: int | None = None
        self.rights: dict[int, bool] = {}
        self.needs_rights = True
        self.task: Any = None  # annotated with the version of the settings
        self.fragments = PageFragments()
        self._activity: Activity | None = None  # the open group of steps
        self._activity_seq: int | None = None  # the last entry in it
        self._redactor: tuple[object, Redactor] | None = None  # with the key it was built for

    def refresh(self, identities: Iterable[SubscriberIdentity], *, inbox_changed: bool, has_newcomers: bool) -> Update:
        """Return the changes since the last refresh, rendered for the `identities`.

        `inbox_changed` says that waiting messages may have changed. `has_newcomers` says that some pages have no
        fragments yet.

        Raises: SessionGone.
        """
        session, self.task = self._session_with_task()
        if has_newcomers or self.needs_rights:
            self.needs_rights = False  # reset first: a change during the read sets it again
            self.rights = _read_rights(session)
        entries = self._read_new_entries(session)
        state = Event({"type": "state", **broadcast.state_of(self.task)}) if self.task else None
        viewers = {viewer for identity in identities if (viewer := self.viewer_of(identity)) is not None}
        update: dict[str, Any] = {"appended": list(map(AppendedEntry, entries)), "state": state}
        if viewers:
            update |= self._render(session, entries, viewers, inbox_changed=inbox_changed, has_newcomers=has_newcomers)
        else:  # the next page gets all fragments
            self.fragments = PageFragments()
            self._activity = self._activity_seq = None
        return Update(**update)

    def _session_with_task(self) -> tuple[Session, Any]:
        """Return the session and its newest task from one query, so that an end never precedes its last entry."""
        if task := _newest_task(self._session_id):
            return task.session, task
        if session := Session.objects.filter(pk=self._session_id).first():
            return session, None
        raise SessionGone()

    def viewer_of(self, identity: SubscriberIdentity) -> Viewer | None:
        """Return the viewer as of the last refresh, or None if the user cannot see the session."""
        user, language = identity
        if user.pk not in self.rights:
            return None
        is_starter = self.task is not None and self.task.started_by_id == user.pk
        return Viewer(user, self.rights[user.pk], is_starter, language)

    def is_recorded(self, stream: str) -> bool:
        """Return whether the streamed text is already in an entry."""
        return ContextEntry.objects.filter(session=self._session_id, metadata__stream=stream).exists()

    def _read_new_entries(self, session: Session) -> list[ContextEntry]:
        if self.seq is None:
            self.seq = session.last_seq
        if session.last_seq == self.seq:
            return []
        entries = _entries_after(session.pk, self.seq)
        redactor = self._current_redactor()
        for entry in entries:
            entry.session = session
        self.seq = entries[-1].seq
        # Rendered again, without values that have become secret since.
        if self.fragments.newest_call is not None:
            self.fragments.newest_call = redact_entry(self.fragments.newest_call, redactor)
        if self._activity is not None:
            self._activity.redact(partial(redact_entry, redactor=redactor))
        return [redact_entry(entry, redactor) for entry in entries]

    def _current_redactor(self) -> Redactor:
        """Return a redactor for the secrets of all writers, built again only if a secret or a writer may have changed.

        The version of the settings counts the changes of secrets. It is read before them, and unknown without a task.
        """
        writers = frozenset(user for user, may_write in self.rights.items() if may_write)
        key = self.task and (self.task.settings_version, writers)
        if self._redactor is None or key is None or self._redactor[0] != key:
            self._redactor = key, active_secrets.for_users(writers).redactor
        return self._redactor[1]

    # --- pages --------------------------------------------------------------------------------------------------

    def _render(
        self,
        session: Session,
        entries: Sequence[ContextEntry],
        viewers: set[Viewer],
        *,
        inbox_changed: bool,
        has_newcomers: bool,
    ) -> dict[str, Any]:
        items = new_entries.items_of_new(session, entries, self.fragments.newest_call)
        rows = RefreshedRows(session=session, task=self.task, entries=entries, items=items, seq=self.seq or 0)
        self.fragments.update(rows, inbox_changed=inbox_changed, has_newcomers=has_newcomers)
        whole, changed = self.fragments.render_for(viewers)
        return {"items": self._render_items(session, items, entries, viewers), "whole": whole, "changed": changed}

    def _render_items(
        self, session: Session, items: Sequence[Item], entries: Sequence[ContextEntry], viewers: Iterable[Viewer]
    ) -> Mapping[Viewer, str]:
        if not entries:
            return {}
        if self._activity_seq != entries[0].seq - 1:
            self._activity = transcript.activity_at(session, entries[0].seq - 1)
        fragment, self._activity = new_entries.items_fragment(session, items, entries, self._activity)
        self._activity_seq = entries[-1].seq
        return {viewer: fragment.render_for(viewer) for viewer in viewers}
