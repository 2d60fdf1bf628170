"""Tasks under which processes died: after the second death in a row, a task runs alone until it has a result.

A dead process takes all of its tasks along, and nothing says which of them was the cause. A task whose process dies
twice while it runs alone was the cause; one that comes to a result was not.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from tasks_app.models import Task
from tasks_app.runtime.wakeup import enqueue

MOST_CRASHES = 3  # claims in a row that ended with a dead worker; more, and the task is the cause
FEWEST_CRASHES = 2  # crashes that make a suspect
PATIENCE = 60.0  # seconds that a suspect waits for other tasks to end, and these for it


def is_suspect(task: Task) -> bool:
    return FEWEST_CRASHES <= task.crashes <= MOST_CRASHES


class SuspectIsolation:
    """The tasks that run in this process. While a suspect waits or runs, no other task begins, within `PATIENCE`."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._running: set[UUID] = set()
        self._postponed: set[UUID] = set()
        self._suspect: UUID | None = None
        self._until = 0.0

    def enter(self, task: Task) -> bool:
        """Return whether the task can run now. If not, a later `leave` returns it."""
        with self._changing:
            if not self._has_room_for(task):
                self._postponed.add(task.pk)
                return False
            self._running.add(task.pk)
            return True

    def _has_room_for(self, task: Task) -> bool:
        if task.stop_requested_at or task.crashes > MOST_CRASHES:  # it only ends, and runs nothing
            return True
        now = time.monotonic()
        if self._suspect not in (None, task.pk) and now < self._until:
            return False
        if not is_suspect(task):
            return True
        if self._suspect != task.pk:
            self._suspect, self._until = task.pk, now + PATIENCE
        if self._running and now < self._until:
            return False
        self._until = now + PATIENCE
        return True

    def leave(self, task_id: UUID) -> set[UUID]:
        """Return the postponed tasks that can try again."""
        with self._changing:
            self._running.discard(task_id)
            if self._suspect == task_id:
                self._suspect = None
            if self._suspect is not None and self._running:
                return set()
            postponed, self._postponed = self._postponed, set()
            return postponed


_isolation = SuspectIsolation()


@contextmanager
def isolating_suspects(task: Task) -> Iterator[bool]:
    """Yield whether the task can run now. When it leaves, wake the postponed tasks."""
    can_run = _isolation.enter(task)
    try:
        yield can_run
    finally:
        if can_run:
            for postponed in _isolation.leave(task.pk):
                enqueue(postponed)
