"""Leases: the right to advance a task. Guarded updates take, renew and release them, on the database's clock."""

import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Case, DateTimeField, ExpressionWrapper, F, Value, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from llm_app.models import Reservation
from llm_app.sql import UpdateRow, cached_sql, execute, update_all
from tasks_app.models import Task
from tasks_app.models.task_state import predecessors
from tasks_app.runtime import admission, metrics, process

T = TypeVar("T")


class StaleLease(Exception):
    """Another worker has taken this task over."""


def claim(task_id: UUID) -> Task | None:
    """Claim a runnable task that nobody holds and for which there is room. Return None if there is nothing to do.

    A previous owner whose lease expired, or who is dead, counts as a crash. Its processes are ended first, and its
    budget reservations are released.
    """
    task = Task.objects.find_runnable(task_id, process.name())
    if task is None:
        return None
    if task.is_queued:
        admission.admit(here=task_id)
    if task.lease_owner and process.is_dead(task.lease_owner):
        process.clean_up(task.lease_owner)
        Task.objects.filter(pk=task_id, lease_owner=task.lease_owner).update(lease_expires_at=_in(-1))
    claimed = _claim_for(settings.LEASE_SECONDS)(task_id, process.name())
    if claimed:
        metrics.count_claim(task)
    if claimed and task.lease_owner:
        Reservation.objects.filter(task_id=task_id).delete()
    return Task.objects.find_claimed(task_id) if claimed else None


def renew(task_ids: Iterable[UUID]) -> None:
    """Renew all leases of this process and their budget reservations, with one update each."""
    held = Task.objects.active().filter(pk__in=list(task_ids), lease_owner=process.name())
    held.update(lease_expires_at=_in(settings.LEASE_SECONDS))
    Reservation.objects.renew(task_ids)


def guarded_update(task: Task, fields: Mapping[str, Any], returning: str = "") -> UpdateRow:
    """Build the update of the task's row that succeeds only under our lease. All state changes are made by it.

    Executing it raises StaleLease if the lease was lost.

    Raises: IllegalTransition for a state that the task cannot enter now.
    """
    held = {"pk": task.id, "epoch": task.epoch, "lease_owner": process.name()}
    if state := fields.get("state"):
        task.check_transition(state)
        held["state"] = predecessors(state)
    stale = StaleLease(f"task {task.id}, epoch {task.epoch}")
    return UpdateRow(Task, fields or {"epoch": task.epoch}, where=held, error=stale, returning=returning)


def write(task: Task, **fields: Any) -> None:
    """Execute a guarded update immediately.

    Raises: StaleLease, IllegalTransition.
    """
    execute([guarded_update(task, fields)])


def is_held_since(held_at: float) -> bool:
    """Return whether a lease that was held at `held_at`, on the monotonic clock, still holds.

    It is renewed every third of its time.
    """
    return bool(time.monotonic() - held_at < settings.LEASE_SECONDS * 2 / 3)


async def run_if_held(work: Coroutine[Any, Any, T], held_at: float) -> T:
    """Await `work`, unless the process was suspended for so long since `held_at` that its lease may be lost.

    Raises: StaleLease.
    """
    if not is_held_since(held_at):
        work.close()
        raise StaleLease("it woke up too late")
    return await work


def release(task: Task) -> None:
    """Release the lease, unless another worker has taken it over."""
    free, held = {"lease_owner": "", "lease_expires_at": None}, {"pk": task.pk, "epoch": task.epoch}
    with suppress(StaleLease):
        execute([UpdateRow(Task, free, where=held, error=StaleLease())])


def expire(task: Task) -> None:
    """End the lease as if it had expired: the next claim counts a crash and checks the open call."""
    Task.objects.filter(pk=task.pk, epoch=task.epoch).exclude(lease_owner="").update(lease_expires_at=_in(-1))


def shorten_overlong() -> None:
    """Shorten leases that end later than any can, because the database's clock was set back."""
    overlong = Task.objects.active().filter(lease_expires_at__gt=_in(2 * settings.LEASE_SECONDS))
    overlong.update(lease_expires_at=_in(settings.LEASE_SECONDS))


def _in(seconds: int) -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())


@cache
def _claim_for(seconds: int) -> Callable[[UUID, str], int]:
    """Return a function that claims a task if it is free. Without cached SQL, a claim would make 4,000 more calls."""

    @cached_sql
    def claim(task_id: UUID, process: str) -> int:
        return update_all(
            Task.objects.runnable().unqueued().open_to(process).unclaimed().filter(pk=task_id),
            crashes=Case(When(lease_owner="", then=F("crashes")), default=F("crashes") + Value(1)),
            lease_owner=process,
            lease_expires_at=_in(seconds),
            epoch=F("epoch") + 1,
        )

    return claim
