"""Who advances a task. A lease is taken, kept and given back by guarded updates, on the database's clock."""

import time
from collections.abc import Coroutine, Iterable, Mapping
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Case, DateTimeField, ExpressionWrapper, F, Value, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from llm_app.models import Reservation
from llm_app.sql.composed_query import Change, Select
from llm_app.sql.statements import Update, execute
from tasks_app.models import Task
from tasks_app.models.task_state import predecessors
from tasks_app.runtime import admission, metrics, process

T = TypeVar("T")


class StaleLease(Exception):
    """Another worker has taken this task over."""


def claim(task_id: UUID) -> Task | None:
    """Takes a runnable task that nobody holds and for which there is room. None: there is nothing to do for us.

    An owner whose lease ran out, or who is known to be dead, counts as a crash; what it left running is ended first,
    and what it had reserved is given back.
    """
    task = _runnable.first(process.name(), task_id)
    if task is None:
        return None
    if task.is_queued:
        admission.admit(here=task_id)
    if task.lease_owner and process.is_dead(task.lease_owner):
        process.clean_up(task.lease_owner)
        Task.objects.filter(pk=task_id, lease_owner=task.lease_owner).update(lease_expires_at=_in(-1))
    claimed = _claiming(settings.LEASE_SECONDS).make(process.name(), task_id)
    if claimed:
        metrics.count_claim(task)
    if claimed and task.lease_owner:
        Reservation.objects.filter(task_id=task_id).delete()
    return _claimed.first(task_id) if claimed else None


def renew(task_ids: Iterable[UUID]) -> None:
    """Keeps all leases of this process, and what they have reserved: one update each for all."""
    held = Task.objects.active().filter(pk__in=list(task_ids), lease_owner=process.name())
    held.update(lease_expires_at=_in(settings.LEASE_SECONDS))
    Reservation.objects.renew(task_ids)


def guarded_update(task: Task, fields: Mapping[str, Any], returning: str = "") -> Update:
    """Updates the task's row, if our lease still holds. Every change of a task's state is made by it.

    It raises StaleLease otherwise. Raises IllegalTransition for a state that the task cannot enter now.
    """
    held = {"pk": task.id, "epoch": task.epoch, "lease_owner": process.name()}
    if state := fields.get("state"):
        task.check_transition(state)
        held["state"] = predecessors(state)
    stale = StaleLease(f"task {task.id}, epoch {task.epoch}")
    return Update(Task, fields or {"epoch": task.epoch}, where=held, otherwise=stale, returning=returning)


def write(task: Task, **fields: Any) -> None:
    """The same at once. Raises StaleLease or IllegalTransition."""
    execute([guarded_update(task, fields)])


def is_certain(asked: float) -> bool:
    """Whether a lease that held at that moment (of the monotonic clock) holds now: it is renewed three times in it."""
    return bool(time.monotonic() - asked < settings.LEASE_SECONDS * 2 / 3)


async def unless_over(work: Coroutine[Any, Any, T], asked: float) -> T:
    """A process that was suspended since then starts nothing when it wakes up. Raises StaleLease."""
    if not is_certain(asked):
        work.close()
        raise StaleLease("it woke up too late")
    return await work


def release(task: Task) -> None:
    """Gives the lease back, unless another worker has taken it over meanwhile."""
    _releasing.make(task.pk, task.epoch)


def expire(task: Task) -> None:
    """Ends the lease as if it had run out: the next claim counts a crash and looks at what was left open."""
    Task.objects.filter(pk=task.pk, epoch=task.epoch).exclude(lease_owner="").update(lease_expires_at=_in(-1))


def shorten_impossible() -> None:
    """A lease that ends later than any could: the database's clock was set back. It is as long as a new one, then."""
    impossible = Task.objects.active().filter(lease_expires_at__gt=_in(2 * settings.LEASE_SECONDS))
    impossible.update(lease_expires_at=_in(settings.LEASE_SECONDS))


def _in(seconds: int) -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())


@cache
def _claiming(seconds: int) -> Change:
    return Change(
        lambda owner, pk: (
            Task.objects.runnable().unqueued().open_to(owner).unclaimed().filter(pk=pk),
            {
                "crashes": Case(When(lease_owner="", then=F("crashes")), default=F("crashes") + Value(1)),
                "lease_owner": owner,
                "lease_expires_at": _in(seconds),
                "epoch": F("epoch") + 1,
            },
        )
    )


_runnable = Select(lambda owner, pk: Task.objects.runnable().open_to(owner).filter(pk=pk).order_by()[:1])
_claimed = Select(lambda pk: Task.objects.filter(pk=pk).select_related("session__model", "started_by").order_by())
_releasing = Change(
    lambda pk, epoch: (Task.objects.filter(pk=pk, epoch=epoch), {"lease_owner": "", "lease_expires_at": None})
)
