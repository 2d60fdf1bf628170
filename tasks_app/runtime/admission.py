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
from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, Value, When, Window
from django.db.models.functions import Now, RowNumber

from llm_app.sql.composed_query import Change, Select
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


def require_room(author: Any) -> None:
    """Refuse a new task of `author` if the queue is full. A person with no queued task can always add one.

    Raises: QueueFull.
    """
    everybodys, own = _queued.first(author.pk) or (0, 0)
    if own and everybodys >= QUEUE * settings.MAX_RUNNING:
        raise QueueFull()


def admit_waiting() -> None:
    """Admit tasks if any are queued."""
    if _any_queued.rows():
        admit()


def admit(here: UUID | None = None) -> None:
    """Admit as many tasks as there is room for, in the order of the queue, and wake them.

    `here` is a task that already runs in this thread and needs no wake-up.
    """
    with transaction.atomic():
        _take_turns()
        running = _running()
        free = settings.MAX_RUNNING - running.total()
        most = min(free, settings.MAX_RUNNING_PER_USER)  # tasks of one person
        chosen = list(_fitting(_queue(running, most), running)) if free > 0 else []
        for task_id in chosen:
            _admitting.make(task_id)
    for task_id in chosen:
        if task_id != here:
            enqueue(task_id)


def _take_turns() -> None:
    """Serialize admissions until the end of the transaction. On SQLite, transactions are serial anyway."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _running() -> Counter[int]:
    """Return the number of running tasks by person."""
    return Counter(dict(_running_by_person.rows()))


def _fitting(queue: "Sequence[_Place]", running: Counter[int]) -> Iterator[UUID]:
    """Yield the queued tasks for which there is room, counting them in `running`."""
    for place in queue:
        if running.total() >= settings.MAX_RUNNING:
            return
        if running[place.person] < settings.MAX_RUNNING_PER_USER:
            running[place.person] += 1
            yield place.task


@dataclass(frozen=True, order=True)
class _Place:
    """A queued task's sort key; the task with the smallest runs next."""

    is_new: int  # 1 if it has never run: resumed tasks come first
    turn: int  # number among this person's tasks, counting those that run
    last_turn: datetime  # when this person's last task was admitted
    created_at: datetime
    task: UUID
    person: int


def _queue(running: Mapping[int, int], most: int | None = None) -> list[_Place]:
    """Return the queued tasks in order, at most the first `most` of each person."""
    found = _waiting.rows() if most is None else _first_waiting.rows(most)
    return sorted(
        _Place(is_new, turn + running.get(person, 0), last_turn or _NEVER, created_at, task, person)
        for is_new, turn, last_turn, created_at, task, person in found
    )


def _places() -> "QuerySet[Task, Any]":
    """Return the values that decide the order of the queue."""
    is_new = Case(When(state=TaskState.INITIALIZING, then=Value(1)), default=Value(0))
    turn = Window(RowNumber(), partition_by=[F("started_by")], order_by=[F("is_new").asc(), F("created_at").asc()])
    earlier = Task.objects.filter(started_by=OuterRef("started_by"), admitted_at__isnull=False).order_by("-admitted_at")
    rows = Task.objects.queued().order_by().annotate(is_new=is_new).annotate(turn=turn)
    rows = rows.annotate(last_turn=Subquery(earlier.values("admitted_at")[:1]))
    return rows.values_list("is_new", "turn", "last_turn", "created_at", "pk", "started_by")


_admitting = Change(lambda pk: (Task.objects.filter(pk=pk), {"admitted_at": Now(), "woken_at": Now()}))
_running_by_person = Select(
    lambda: Task.objects.running().order_by().values_list("started_by").annotate(count=Count("pk"))
)
_any_queued = Select(lambda: Task.objects.queued().order_by().values_list("pk")[:1])
_queued = Select(
    lambda person: (
        Task.objects.queued()
        .order_by()
        .values_list(Value(1))
        .annotate(all=Count("pk"), own=Count("pk", filter=Q(started_by=person)))
        .values_list("all", "own")
    )
)
_waiting, _first_waiting = Select(_places), Select(lambda most: _places().filter(Q(turn__lte=most)))


def position_of(task: Task) -> int | None:
    """Return the position of a task for which there is no room, 1 for the next; None for any other task."""
    if not task.is_queued:
        return None
    positions = _positions()
    return positions.get(task.pk) if task.pk in positions else _positions(anew=True).get(task.pk)


def _positions(*, anew: bool = False) -> Mapping[UUID, int | None]:
    """Return the positions of all queued tasks. They are computed at most once a second, except on demand."""
    global _counted
    now, (until, positions) = time.monotonic(), _counted
    if anew or now >= until:
        running = _running()
        queue = _queue(running)
        fitting = set(_fitting(queue, running))
        others = [place.task for place in queue if place.task not in fitting]
        positions = dict.fromkeys(fitting) | {task: number for number, task in enumerate(others, 1)}
        _counted = (now + _POSITIONS_SECONDS, positions)
    return positions


_counted: tuple[float, Mapping[UUID, int | None]] = (0.0, {})
