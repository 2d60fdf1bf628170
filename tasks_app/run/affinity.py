"""Session affinity: a session's tasks run on the process that holds its resources, such as an open page."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from uuid import UUID

from django.db import transaction

from tasks_app.models import ContextType, EngineProcess, Session, Task
from tasks_app.record import Draft
from tasks_app.runtime import event_loop, process
from tools_app import held_resources, release_session

_LEAVING_S = 10
called = threading.Event()  # set when another worker has left a task to this one; wakes the supervisor


def is_held_elsewhere(task_id: UUID) -> bool:
    """Return whether another live process holds resources of the task's session."""
    holder = Session.objects.holder_of(task_id)
    if not holder or holder == process.name():
        return False
    return EngineProcess.objects.alive().filter(pk=holder).exists() and not process.is_dead(holder)


def release_deleted() -> None:
    """Release resources of deleted sessions that this process holds, whichever process deleted them."""
    held = release_session.held_sessions()
    there = Session.objects.filter(pk__in=held).values_list("pk", flat=True) if held else ()
    for session in held - {str(pk) for pk in there}:
        release(session)


def release_taken() -> None:
    """Release idle sandboxes of sessions whose task another process runs now."""
    untied = release_session.movable_sessions()
    elsewhere = Task.objects.filter(session__in=untied).exclude(lease_owner__in=("", process.name())) if untied else ()
    for session in {str(task.session_id) for task in elsewhere}:
        release(session)


def give_up(task_id: UUID) -> None:
    """Release the resources of a task's session, so that another worker can take it. That worker reports the loss."""
    session = Session.objects.get(tasks=task_id)
    release(str(session.pk))
    Session.objects.filter(pk=session.pk, held_by=process.name()).update(held_by="")


def release(session: str) -> None:
    """Release the resources that this process holds for a session, and wait for it."""
    if session in release_session.held_sessions():
        event_loop.submit(release_session.release_session(session)).result(_LEAVING_S)


def store_held(session: str) -> None:
    """Store the held resources: the end of a background command must outlive this process. Called on the event loop."""
    _storing.add(task := asyncio.get_running_loop().create_task(event_loop.in_thread(partial(_store, session))))
    task.add_done_callback(_storing.discard)


_storing: set[asyncio.Task[None]] = set()


def _store(session: str) -> None:
    """Store under the session's lock, which the task's commits take as well, so that the newest state remains."""
    with transaction.atomic(), suppress(Session.DoesNotExist):
        row = Session.objects.select_for_update(no_key=True).get(pk=session)
        if row.held_by == process.name():
            Session.objects.filter(pk=session).update(held=row.held | held_resources.resources_of(session))


class SessionAffinity:
    """The held resources of one session, in its row.

    It also reports lost resources and ended background commands to the model.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._key = session, str(session.pk)
        gone = {name: words for name, words in session.held.items() if name not in self.held}
        self._lost = {name: words for name, words in gone.items() if not _is_of_job(name)}
        self._gone_jobs = {name: words for name, words in gone.items() if _is_of_job(name)}
        self._untold, self._telling = self._lost, frozenset[str]()  # pending state of the current commit
        self._row = (session.held, session.held_by)

    @property
    def held(self) -> Mapping[str, str]:
        """Return the resources that this process holds for the session: name → description."""
        return held_resources.resources_of(self._key)

    @property
    def ended_jobs(self) -> Mapping[int, str]:
        """Return how commands have ended whose end the model does not know, by their numbers; '' if that is lost."""
        known = {**self._gone_jobs, **{name: words for name, words in self.held.items() if _is_notice(name)}}
        numbers = {int(name.rpartition(" ")[2]) for name in known}
        return {number: known.get(f"{held_resources.ENDED} {number}", "") for number in sorted(numbers)}

    @contextmanager
    def telling_ends(self) -> Iterator[None]:
        """Treat the commit in this block as the report of the ended commands."""
        self._telling = frozenset(
            name for name in (*self._gone_jobs, *self.held) if name not in self.held or _is_notice(name)
        )
        try:
            yield
        finally:
            self._telling = frozenset()

    def with_losses(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return the drafts of a commit. The first result among them also reports lost resources."""
        told, self._untold = list(drafts), self._lost
        for place, draft in enumerate(told):
            if self._untold and draft.context_type is ContextType.TOOL_RESULT:
                lost = f"[Gone: {', '.join(self._untold.values())}. It was idle too long, or the server was restarted.]"
                told[place] = replace(draft, content=f"{draft.content}\n{lost}")
                self._untold = {}
        return told

    def save(self) -> None:
        """Store the held resources, in the transaction of the commit. Lost ones stay in the row until they are
        reported.
        """
        here, before = dict(self.held), (self._session.held, self._session.held_by)
        stored = {**self._untold, **self._gone_jobs, **here}
        self._row = (
            {name: words for name, words in stored.items() if name not in self._telling},
            process.name() if here else "",
        )
        if self._row != before:
            Session.objects.filter(pk=self._session.pk).update(held=self._row[0], held_by=self._row[1])

    def committed(self) -> None:
        """Take over the state after the commit. A failed commit has stored and reported nothing."""
        self._session.held, self._session.held_by = self._row
        self._lost = self._untold
        if self._telling:
            self._gone_jobs = {}
            for name in self._telling:
                held_resources.release(self._key, name)


def _is_notice(name: str) -> bool:
    return name.startswith(held_resources.ENDED)


def _is_of_job(name: str) -> bool:
    return name.startswith((held_resources.JOB, held_resources.ENDED))
