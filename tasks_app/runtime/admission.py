"""How many tasks run at once: beyond the limits they are queued, and people take turns.

A task is admitted before its first claim and again after each wait for a person, and keeps its place until it waits or
ends, also through a crash. Those that resume come first: they have been waited for. A lost wake-up costs no more than
the reaper's round.
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

QUEUE = 10  # times as many as may run
_LOCK = 0x61646D6974  # "admit": the number of PostgreSQL's lock
_POSITIONS_SECONDS = 1.0
_NEVER = datetime.min.replace(tzinfo=UTC)


class QueueFull(Refusal):
    """The server has more work than it can queue, so this was not taken. Try again in half a minute."""

    status, retry_after = 503, 30


def require_room(author: Any) -> None:
    """Raises QueueFull where no task of `author` can be queued any more.

    Whoever has none in the queue may add one: nobody's flood keeps others out.
    """
    everybodys, own = _queued.first(author.pk) or (0, 0)
    if own and everybodys >= QUEUE * settings.MAX_RUNNING:
        raise QueueFull()


def admit_waiting() -> None:
    """Where somebody is in the queue: `admit`."""
    if _any_queued.rows():
        admit()


def admit(here: UUID | None = None) -> None:
    """Admits as many as there is room for, in the order of the queue, and wakes them; one is `here`, awake."""
    with transaction.atomic():
        _take_turns()
        running = _running()
        free = settings.MAX_RUNNING - running.total()
        most = min(free, settings.MAX_RUNNING_PER_USER)  # of one person
        chosen = list(_fitting(_queue(running, most), running)) if free > 0 else []
        for task_id in chosen:
            _admitting.make(task_id)
    for task_id in chosen:
        if task_id != here:
            enqueue(task_id)


def _take_turns() -> None:
    """Who admits does so alone, until the end of the transaction; on SQLite, any transaction does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _running() -> Counter[int]:
    """How many tasks run, by person."""
    return Counter(dict(_running_by_person.rows()))


def _fitting(queue: "Sequence[_Place]", running: Counter[int]) -> Iterator[UUID]:
    """The first of the queue for which there is room; `running` counts them, too."""
    for place in queue:
        if running.total() >= settings.MAX_RUNNING:
            return
        if running[place.person] < settings.MAX_RUNNING_PER_USER:
            running[place.person] += 1
            yield place.task


@dataclass(frozen=True, order=True)
class _Place:
    """In the queue; what comes first is less."""

    is_new: int  # has never run: what resumes comes first
    turn: int  # counting the tasks of this person that run
    last_turn: datetime  # when this person's last task was admitted
    created_at: datetime
    task: UUID
    person: int


def _queue(running: Mapping[int, int], most: int | None = None) -> list[_Place]:
    """Who waits, in order; of each person at most the first `most`."""
    found = _waiting.rows() if most is None else _first_waiting.rows(most)
    return sorted(
        _Place(is_new, turn + running.get(person, 0), last_turn or _NEVER, created_at, task, person)
        for is_new, turn, last_turn, created_at, task, person in found
    )


def _places() -> "QuerySet[Task, Any]":
    """What decides over the place of each who waits."""
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
    """Its place among those for which there is no room now, 1 for the next; None for any other task."""
    if not task.is_queued:
        return None
    positions = _positions()
    return positions.get(task.pk) if task.pk in positions else _positions(anew=True).get(task.pk)


def _positions(*, anew: bool = False) -> Mapping[UUID, int | None]:
    """Of all in the queue. Counted once a second for all who ask."""
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
