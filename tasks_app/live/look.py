"""One look at a session's rows, for all in this process who follow it: read, redacted and rendered once."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from llm_app.composed_query import Select
from tasks_app.events import broadcast
from tasks_app.live import pushes
from tasks_app.live.messages import Appended, Event, Guest, News
from tasks_app.models import ContextEntry, ContextType, InboxMessage, Session, Task
from tasks_app.pages import file_tree
from tasks_app.pages.fragments import Fragment, Viewer
from tasks_app.record import redact_entries
from tasks_app.runtime import admission
from tasks_app.transcript import delegated, transcript
from tasks_app.transcript.activity import Activity
from tasks_app.transcript.item import Item

PAGE = 500  # entries of a backlog that are read at once
PAGE_CHARS = 128 * 1024  # in them: whoever reads slowly holds one page in memory
SELDOM_SECONDS = 1.0  # between two looks at what changes with each step and is dear: budgets, files
_WITH_STATE = ("state", "here", "said", "actions", "queue")  # with the state alone
_session = Select(lambda pk: Session.objects.filter(pk=pk))
_newest_task = Select(lambda session: Task.objects.filter(session=session).select_related("session")[:1])
_entries_after = Select(lambda session, seq: ContextEntry.objects.in_session(session).after(seq)[:PAGE])


class SessionGone(Exception):
    """The session is deleted, or no longer shared with this user."""


def backlog(session_id: UUID, guest: Guest, after: int, until: int, *, renders: bool) -> tuple[News, Viewer]:
    """What somebody has missed: one page of entries, with their HTML if it `renders`. Raises SessionGone."""
    session = Session.objects.visible_to(guest.user).filter(pk=session_id).first()
    if session is None:
        raise SessionGone()
    entries = redact_entries(session, _page(session, after, until))
    viewer = Viewer(guest.user, _rights(session).get(guest.user.pk, False), False, guest.language)
    items: Mapping[Viewer, str] = {}
    if renders and entries:
        activity = transcript.activity_at(session, entries[0].seq - 1)
        found, _ = pushes.pushed(session, pushes.items_of_new(session, entries, None), entries, activity)
        items = {viewer: found.seen_by(viewer)}
    return News(appended=list(map(Appended, entries)), items=items), viewer


def _page(session: Session, after: int, until: int) -> list[ContextEntry]:
    """One at least, if there is one."""
    page: list[ContextEntry] = []
    rows = ContextEntry.objects.in_session(session).after(after).filter(seq__lte=until)
    for entry in rows[:PAGE].iterator(chunk_size=50):
        page.append(entry)
        if sum(len(one.content) for one in page) > PAGE_CHARS:
            break
    return page


def _rights(session: Session) -> dict[int, bool]:
    """Whether each user who may see the session may write in it."""
    return Session.objects.filter(pk=session.pk).rights().get(session.pk, {})


class Look:
    """Looks again and again, in threads, one at a time, and remembers what it has shown.

    `seq` is the newest entry that it has read, `rights` who may see the session and write in it, `task` the newest.
    `files_may_differ` and `rights_may_differ` are also set from outside, between two looks or during one.
    """

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self.seq: int | None = None
        self.rights: dict[int, bool] = {}
        self.rights_may_differ = True
        self.task: Task | None = None
        self.is_behind = False  # what is looked at seldom may have changed since
        self._call: ContextEntry | None = None  # the newest one
        self._call_looks: tuple[object, ...] = ()
        self._activity: Activity | None = None  # what is being done
        self._activity_at: int | None = None  # the entry at which that was known
        self.files_may_differ = True
        self._waiting: list[InboxMessage] | None = None
        self._pieces: dict[str, tuple[object, Fragment]] = {}
        self._shown: dict[Viewer, dict[str, str]] = {}
        self._looked: dict[str, float] = {}

    def again(self, guests: Iterable[Guest], *, inbox: bool, newcomers: bool) -> News:
        """What is new, rendered for the `guests` with pages; `inbox` says that waiting messages may have changed.

        Raises SessionGone.
        """
        session, self.task = self._session_with_task()
        if newcomers or self.rights_may_differ:
            self.rights_may_differ = False  # before it looks
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

    def _session_with_task(self) -> tuple[Session, Task | None]:
        """As both were at one moment: nobody hears of an end before its last entry."""
        if task := _newest_task.first(self._session_id):
            return task.session, task
        if session := _session.first(self._session_id):
            return session, None
        raise SessionGone()

    def viewer_of(self, guest: Guest) -> Viewer | None:
        """As of the last look; None for whom may not see the session."""
        user, language = guest
        if user.pk not in self.rights:
            return None
        is_starter = self.task is not None and self.task.started_by_id == user.pk
        return Viewer(user, self.rights[user.pk], is_starter, language)

    def is_recorded(self, stream: str) -> bool:
        """Whether the streamed text is in an entry by now."""
        return ContextEntry.objects.filter(session=self._session_id, metadata__stream=stream).exists()

    def _new_entries(self, session: Session) -> list[ContextEntry]:
        if self.seq is None:
            self.seq = session.last_seq
        if session.last_seq == self.seq:
            return []
        writers = [user for user, may_write in self.rights.items() if may_write]
        entries = _entries_after.rows(session.pk, self.seq)
        for entry in entries:
            entry.session = session
        self.seq = entries[-1].seq
        # Shown again, without what has become a secret since.
        call, steps = [self._call] if self._call else [], self._activity.entries if self._activity else []
        redacted = redact_entries(session, [*call, *steps, *entries], writers)
        if self._call is not None:
            self._call = redacted.pop(0)
        if self._activity is not None:
            self._activity.retake(redacted[: len(steps)])
        return redacted[len(steps) :]

    def _forget_pages(self) -> None:
        """Nobody has one any more: the next one gets everything, as it stands then."""
        self._call, self._waiting, self._pieces, self._shown = None, None, {}, {}
        self._activity = self._activity_at = None
        self.files_may_differ = True

    # --- pages --------------------------------------------------------------------------------------------------

    def _rendered(
        self, session: Session, entries: Sequence[ContextEntry], viewers: set[Viewer], *, inbox: bool, newcomers: bool
    ) -> dict[str, Any]:
        items = pushes.items_of_new(session, entries, self._call)
        self._draw_pieces(session, entries, items, inbox=inbox, newcomers=newcomers)
        whole, changed = {}, {}
        for viewer in viewers:
            pieces = {name: str(fragment.seen_by(viewer)) for name, (_, fragment) in self._pieces.items()}
            before = self._shown.get(viewer, {})
            whole[viewer] = "".join(pieces.values())
            changed[viewer] = "".join(html for name, html in pieces.items() if before.get(name) != html)
            self._shown[viewer] = pieces
        self._shown = {viewer: self._shown[viewer] for viewer in viewers}
        return {"items": self._appended(session, items, entries, viewers), "whole": whole, "changed": changed}

    def _appended(
        self, session: Session, items: Sequence[Item], entries: Sequence[ContextEntry], viewers: Iterable[Viewer]
    ) -> Mapping[Viewer, str]:
        if not entries:
            return {}
        if self._activity_at != entries[0].seq - 1:
            self._activity = transcript.activity_at(session, entries[0].seq - 1)
        found, self._activity = pushes.pushed(session, items, entries, self._activity)
        self._activity_at = entries[-1].seq
        return {viewer: found.seen_by(viewer) for viewer in viewers}

    def _draw_pieces(
        self,
        session: Session,
        entries: Sequence[ContextEntry],
        items: Sequence[Item],
        *,
        inbox: bool,
        newcomers: bool,
    ) -> None:
        task = self.task
        position = admission.position_of(task) if task else None
        common = {"session": session, "task": task, "queue_position": position, "oob": True}
        stands = (*pushes.stands(task), position, *pushes.children_stand(delegated.awaited(task))) if task else None
        has_moved = "state" not in self._pieces or self._pieces["state"][0] != stands
        for name in _WITH_STATE:
            self._draw(name, stands, **common)
        acting = session.active_agent_id or session.agent_id
        if acting or "agent" in self._pieces:
            self._draw("agent", acting, **common)
        self._draw("plan", (task.pk, task.plan, task.workflow) if task else None, **common)
        inbox |= newcomers or any(one.context_type == ContextType.USER_MESSAGE for one in entries)
        if inbox or self._waiting is None:
            self._waiting = list(InboxMessage.objects.waiting_in(session).select_related("author"))
        said = [(message.pk, message.content) for message in self._waiting]  # what became a secret is not in it
        self._draw("waiting", said, **common, waiting=self._waiting)
        self._draw_newest_call(session, items, is_asked=has_moved or newcomers)
        self._draw_seldom(session, entries, common, newcomers=newcomers)

    def _draw(self, name: str, inputs: object, **context: Any) -> None:
        """Anew only where what it shows is not as it was."""
        if name not in self._pieces or self._pieces[name][0] != inputs:
            self._pieces[name] = (inputs, Fragment(f"chat/_{name}.html", **context))

    def _draw_newest_call(self, session: Session, items: Sequence[Item], *, is_asked: bool) -> None:
        """The last item that is a call: its looks follow the task's state and a person's decision."""
        if newest := next((item for item in reversed(items) if item.entry.tool_call), None):
            self._call, self._call_looks = newest.entry, pushes.looks(newest)
            self._pieces.pop("entry", None)  # it is among the items
        has_ended = self.task is not None and not self.task.is_active  # what is known of its answer may lack the steps
        if is_asked and (has_ended or not newest):
            item = transcript.newest_call(session)
            is_told = item is not None and self.seq is not None and item.seq <= self.seq
            if item and is_told and (item.needs_approval or pushes.looks(item) != self._call_looks):
                self._call, self._call_looks = item.entry, pushes.looks(item)
                self._draw("entry", object(), session=session, item=item, task=self.task)

    def _draw_seldom(
        self, session: Session, entries: Sequence[ContextEntry], common: dict[str, Any], *, newcomers: bool
    ) -> None:
        """Budgets, tokens and files: at once when the task rests, else not more often than once a second."""
        task, self.is_behind = self.task, False
        rests = task is None or not task.is_active or bool(task.waiting_for)
        used = task and (task.pk, task.iteration, task.usage, task.cost_usd, task.is_active)
        if ("spent" not in self._pieces or self._pieces["spent"][0] != used) and self._is_due("spent", rests=rests):
            self._draw("spent", used, **common)
        self.files_may_differ |= newcomers or any(entry.tool_call_id for entry in entries)
        if self.files_may_differ and self._is_due("files", rests=rests or newcomers):
            self.files_may_differ = False  # before it looks: what changes meanwhile is looked at again
            tree = file_tree.tree_of(session)
            self._draw("files", tree, session=session, tree=tree, oob=False)

    def _is_due(self, name: str, *, rests: bool) -> bool:
        now = time.monotonic()
        if rests or now - self._looked.get(name, 0.0) >= SELDOM_SECONDS:
            self._looked[name] = now
            return True
        self.is_behind = True
        return False
