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
task_waiting = threading.Event()  # set when another worker has left a task to this one; wakes the supervisor


def is_held_elsewhere(task_id: UUID) -> bool:
    """Return whether another live process holds resources of the task's session."""
    holder = Session.objects.holder_of(task_id)
    if not holder or holder == process.name():
        return False
    return EngineProcess.objects.alive().filter(pk=holder).exists() and not process.is_dead(holder)


def release_deleted() -> None:
    """Release resources of deleted sessions that this process holds, whichever process deleted them."""
    held = release_session.held_sessions()
    existing = Session.objects.filter(pk__in=held).values_list("pk", flat=True) if held else ()
    for session in held - {str(pk) for pk in existing}:
        release(session)


def release_taken() -> None:
    """Release idle sandboxes of sessions whose task another process runs now."""
    idle = release_session.movable_sessions()
    tasks = Task.objects.filter(session__in=idle).exclude(lease_owner__in=("", process.name())) if idle else ()
    for session in {str(task.session_id) for task in tasks}:
        release(session)


def hand_over(task_id: UUID) -> None:
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
        missing = {name: description for name, description in session.held.items() if name not in self.held}
        self._losses = {name: description for name, description in missing.items() if not _is_of_job(name)}
        self._lost_jobs = {name: description for name, description in missing.items() if _is_of_job(name)}
        self._pending_losses = self._losses  # after the current commit
        self._reported_names = frozenset[str]()  # by the current commit
        self._row = (session.held, session.held_by)

    @property
    def held(self) -> Mapping[str, str]:
        """Return the resources that this process holds for the session: name → description."""
        return held_resources.resources_of(self._key)

    @property
    def ended_jobs(self) -> Mapping[int, str]:
        """Return how commands have ended whose end the model does not know, by their numbers; '' if that is lost."""
        notices = {name: description for name, description in self.held.items() if _is_notice(name)}
        endings = {**self._lost_jobs, **notices}
        numbers = {int(name.rpartition(" ")[2]) for name in endings}
        return {number: endings.get(f"{held_resources.ENDED} {number}", "") for number in sorted(numbers)}

    @contextmanager
    def reporting_ended_jobs(self) -> Iterator[None]:
        """Treat the commit in this block as the report of the ended commands."""
        self._reported_names = frozenset(
            name for name in (*self._lost_jobs, *self.held) if name not in self.held or _is_notice(name)
        )
        try:
            yield
        finally:
            self._reported_names = frozenset()

    def add_losses(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return the drafts of a commit. The first result among them also reports lost resources."""
        reported, self._pending_losses = list(drafts), self._losses
        for index, draft in enumerate(reported):
            if self._pending_losses and draft.context_type is ContextType.TOOL_RESULT:
                gone = ", ".join(self._pending_losses.values())
                line = f"[Gone: {gone}. It was idle too long, or the server was restarted.]"
                reported[index] = replace(draft, content=f"{draft.content}\n{line}")
                self._pending_losses = {}
        return reported

    def save(self) -> None:
        """Store the held resources, in the transaction of the commit.

        Lost ones stay in the row until they are reported.
        """
        held, previous = dict(self.held), (self._session.held, self._session.held_by)
        stored = {**self._pending_losses, **self._lost_jobs, **held}
        self._row = (
            {name: description for name, description in stored.items() if name not in self._reported_names},
            process.name() if held else "",
        )
        if self._row != previous:
            Session.objects.filter(pk=self._session.pk).update(held=self._row[0], held_by=self._row[1])

    def apply_commit(self) -> None:
        """Update the state in memory after a commit. A failed commit has stored and reported nothing."""
        self._session.held, self._session.held_by = self._row
        self._losses = self._pending_losses
        if self._reported_names:
            self._lost_jobs = {}
            for name in self._reported_names:
                held_resources.release(self._key, name)


def _is_notice(name: str) -> bool:
    return name.startswith(held_resources.ENDED)


def _is_of_job(name: str) -> bool:
    return name.startswith((held_resources.JOB, held_resources.ENDED))
