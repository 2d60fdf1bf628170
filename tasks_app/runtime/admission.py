"""Limits on concurrent tasks. Tasks beyond them are queued, and people take turns.

A task is admitted before its first claim and again after each wait for a person. It keeps its place until it waits or
ends, also through a crash. Resumed tasks come before new ones: somebody is waiting for them. A lost wake-up costs no
more than one round of the reaper.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, Value, When, Window
from django.db.models.functions import RowNumber

from llm_app.sql import cached_sql, fetch_all
from tasks_app.models import Task, TaskState
from tasks_app.models.errors import Refusal
from tasks_app.runtime.wakeup import enqueue

QUEUE = 10  # length of the queue, as a multiple of the tasks that can run
_LOCK = 0x61646D6974  # "admit": the key of the advisory lock
_POSITIONS_SECONDS = 1.0
_NEVER = datetime.min.replace(tzinfo=UTC)


class QueueFull(Refusal):
    """The server has more work than it can queue, so this was not taken. Try again in half a minute."""

    status, retry_after = 503, 30


def check_queue(author: Any) -> None:
    """Refuse a new task of `author` if the queue is full. A person with no queued task can always add one.

    Raises: QueueFull.
    """
    total, own = Task.objects.count_queued(author) or (0, 0)
    if own and total >= QUEUE * settings.MAX_RUNNING:
        raise QueueFull()


def admit_waiting() -> None:
    """Admit tasks if any are queued."""
    if Task.objects.any_queued() is not None:
        admit()


def admit(here: UUID | None = None) -> None:
    """Admit as many tasks as there is room for, in the order of the queue, and wake them.

    `here` is a task that already runs in this thread and needs no wake-up.
    """
    with transaction.atomic():
        _lock_admissions()
        running = _running_counts()
        free = settings.MAX_RUNNING - running.total()
        limit = min(free, settings.MAX_RUNNING_PER_USER)  # tasks of one person
        admitted = list(_admissible(_queue(running, limit), running)) if free > 0 else []
        if admitted:
            Task.objects.admit(admitted)
    for task_id in admitted:
        if task_id != here:
            enqueue(task_id)


def _lock_admissions() -> None:
    """Serialize admissions until the end of the transaction. On SQLite, transactions are serial anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _running_counts() -> Counter[int]:
    """Return the number of running tasks by person."""
    return Counter(dict(Task.objects.count_running()))


def _admissible(queue: "Sequence[_QueueEntry]", running: Counter[int]) -> Iterator[UUID]:
    """Yield the queued tasks for which there is room, counting them in `running`."""
    for entry in queue:
        if running.total() >= settings.MAX_RUNNING:
            return
        if running[entry.person] < settings.MAX_RUNNING_PER_USER:
            running[entry.person] += 1
            yield entry.task


@dataclass(frozen=True, order=True)
class _QueueEntry:
    """A queued task's sort key; the task with the smallest runs next."""

    is_new: int  # 1 if it has never run: resumed tasks come first
    turn: int  # number among this person's tasks, counting those that run
    last_turn: datetime  # when this person's last task was admitted
    created_at: datetime
    task: UUID
    person: int


def _queue(running: Mapping[int, int], limit: int | None = None) -> list[_QueueEntry]:
    """Return the queued tasks in order, at most the first `limit` of each person."""
    rows = _all_queue_rows() if limit is None else _first_queue_rows(limit)
    return sorted(
        _QueueEntry(is_new, turn + running.get(person, 0), last_turn or _NEVER, created_at, task, person)
        for is_new, turn, last_turn, created_at, task, person in rows
    )


def _queue_rows() -> "QuerySet[Task, Any]":
    """Return the values that decide the order of the queue."""
    is_new = Case(When(state=TaskState.INITIALIZING, then=Value(1)), default=Value(0))
    turn = Window(RowNumber(), partition_by=[F("started_by")], order_by=[F("is_new").asc(), F("created_at").asc()])
    earlier = Task.objects.filter(started_by=OuterRef("started_by"), admitted_at__isnull=False).order_by("-admitted_at")
    rows = Task.objects.queued().order_by().annotate(is_new=is_new).annotate(turn=turn)
    rows = rows.annotate(last_turn=Subquery(earlier.values("admitted_at")[:1]))
    return rows.values_list("is_new", "turn", "last_turn", "created_at", "pk", "started_by")


@cached_sql
def _all_queue_rows() -> list[tuple[Any, ...]]:
    return fetch_all(_queue_rows())


@cached_sql
def _first_queue_rows(limit: int) -> list[tuple[Any, ...]]:
    """Return the rows of each person's first `limit` tasks."""
    return fetch_all(_queue_rows().filter(Q(turn__lte=limit)))


def position_of(task: Task) -> int | None:
    """Return the position of a task for which there is no room, 1 for the next; None for any other task."""
    if not task.is_queued:
        return None
    positions = _positions()
    return positions.get(task.pk) if task.pk in positions else _positions(is_fresh=True).get(task.pk)


def _positions(*, is_fresh: bool = False) -> Mapping[UUID, int | None]:
    """Return the positions of all queued tasks. They are computed at most once a second, except on demand."""
    global _cached_positions
    now, (until, positions) = time.monotonic(), _cached_positions
    if is_fresh or now >= until:
        running = _running_counts()
        queue = _queue(running)
        admissible = set(_admissible(queue, running))
        waiting = [entry.task for entry in queue if entry.task not in admissible]
        positions = dict.fromkeys(admissible) | {task: number for number, task in enumerate(waiting, 1)}
        _cached_positions = (now + _POSITIONS_SECONDS, positions)
    return positions


_cached_positions: tuple[float, Mapping[UUID, int | None]] = (0.0, {})
