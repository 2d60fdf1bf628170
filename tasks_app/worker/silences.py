"""Providers that send nothing: pages show it from the row of the task.

A row is written when a silence is noticed and when it is over, so calls that are answered in time cost nothing.
"""

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from tasks_app.models import Task
from tasks_app.runtime import broadcast, cancellation, process
from tasks_app.runtime.cancellation import Silence

QUIET_SECONDS = 10.0  # until a silence is shown


class Silences:
    """The silences of this process that are stored in its tasks' rows."""

    def __init__(self) -> None:
        self._stored: dict[UUID, Silence] = {}

    def update(self) -> None:
        """Store silences that have begun, and clear those that are over."""
        current = cancellation.silences(QUIET_SECONDS)
        for task_id in self._stored.keys() | current.keys():
            if self._stored.get(task_id) != current.get(task_id):
                _store(task_id, current.get(task_id))
        self._stored = current


def _store(task_id: UUID, silence: Silence | None) -> None:
    task = Task.objects.filter(pk=task_id).select_related("session").first()
    if task is None:
        return
    stored: dict[str, Any] | None = None
    if silence is not None:
        stored = {
            "provider": silence.provider,
            "since": _iso_time(silence.since),
            "gives_up_at": _iso_time(silence.gives_up_at),
            "epoch": task.epoch,
        }
    if Task.objects.filter(pk=task_id, epoch=task.epoch, lease_owner=process.name()).update(silence=stored):
        broadcast.silence_changed(task.session)


def _iso_time(monotonic: float) -> str:
    return (timezone.now() + timedelta(seconds=monotonic - time.monotonic())).isoformat()
