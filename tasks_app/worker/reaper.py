"""Recovery of tasks that nobody advances: after a crash, a lost wake-up, a dead terminal or an expired approval.

The reaper wakes tasks and runs none itself.
"""

import logging
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Case, DateTimeField, ExpressionWrapper, F, Q, When
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from tasks_app.models import Approval, Decision, EngineProcess, Task, WaitingFor
from tasks_app.models.errors import NothingToAnswer
from tasks_app.models.task import TaskQuerySet
from tasks_app.record import lock
from tasks_app.run import children, open_call
from tasks_app.run.decisions import settle
from tasks_app.runtime import admission, lease, process
from tasks_app.runtime.suspects import FEWEST_CRASHES
from tasks_app.runtime.wakeup import enqueue

logger = logging.getLogger(__name__)
QUIET_SECONDS = 15  # until an unanswered wake-up counts as lost
FORSAKEN_SECONDS = 600  # a terminal's host may sleep for a while

NOBODY_CAME = "nobody approved it in time. Find another way, or say in the result what was left undone."
_BATCH = 100
# Suspects run alone, so they come before tasks that they would have to wait for, those with the fewest crashes first.
# The next claim adds a crash to tasks whose lease has an owner.
_SUSPECTS_FIRST = (
    Case(When(Q(crashes__gte=FEWEST_CRASHES) | Q(crashes=FEWEST_CRASHES - 1) & ~Q(lease_owner=""), then=0), default=1),
    F("crashes") + Case(When(lease_owner="", then=0), default=1),
)


def start() -> None:
    """Expire the leases of dead processes and wake all runnable tasks, at the start of an engine process."""
    process.clean_up_dead()
    forget_dead_hosts()
    _expire_leases_of_dead_processes()
    stop_abandoned()
    look_after_children()
    children.remove_mount_points()
    runnable = Task.objects.runnable().unqueued().open_to(process.name()).unclaimed()
    for task_id in runnable.order_by(*_SUSPECTS_FIRST).values_list("pk", flat=True):
        enqueue(task_id)
    admission.admit_waiting()


def sweep() -> None:
    """Wake runnable, unclaimed tasks whose lease expired, whose wake-up was lost or whose terminal died."""
    lease.shorten_overlong()
    forget_dead_hosts()
    for task_id in _expire_leases_of_dead_processes():
        enqueue(task_id)
    stop_abandoned()
    look_after_children()
    long_ago = _seconds_ago(QUIET_SECONDS)
    never_woken = Q(woken_at=None) & (Q(created_at__lt=long_ago) | Q(created_at__gt=Now()))  # a clock was set back
    not_taken = Q(woken_at__lt=long_ago) | Q(woken_at__gt=Now())
    lost = Task.objects.runnable().unqueued().open_to(process.name()).unclaimed().filter(never_woken | not_taken)
    for task_id in lost.values_list("pk", flat=True)[:500]:
        if Task.objects.filter(pk=task_id).unclaimed().update(woken_at=Now()):
            logger.info("waking task %s", task_id)
            enqueue(task_id)
    admission.admit_waiting()


def look_after_children() -> None:
    """Wake tasks whose children have all ended, and start the next children, in case a worker died in between."""
    for call in children.stalled_calls():
        children.advance_call(call)


def stop_abandoned() -> None:
    """Stop the tasks of dead terminals, as a person's stop would: nobody is there to watch them go on."""
    of_terminals = Task.objects.active().exclude(terminal="").filter(stop_requested_at=None)
    for terminal in set(of_terminals.values_list("terminal", flat=True)):
        tasks = of_terminals.filter(terminal=terminal)
        if process.is_dead(terminal) or _is_unreachable(tasks, terminal):
            process.clean_up(terminal)
            abandoned = list(tasks)
            tasks.update(stop_requested_at=Now(), waiting_for=None)
            for task in abandoned:
                enqueue(task.pk)


def _is_unreachable(tasks: TaskQuerySet, terminal: str) -> bool:
    """Return whether another host's terminal has held no lease on its tasks for long. Its lock proves nothing here."""
    long_ago = _seconds_ago(FORSAKEN_SECONDS)
    begun, never_begun = Q(lease_expires_at__lt=long_ago), Q(epoch=0, created_at__lt=long_ago)
    return bool(process.other_host(terminal)) and tasks.runnable().filter(begun | never_begun).exists()


def forget_dead_hosts() -> None:
    """Remove the lock files of other hosts' workers that send no heartbeat and hold no lease.

    Their locks tell nothing here.
    """
    if owners := process.owners_on_other_hosts():
        silent = EngineProcess.objects.filter(pk__in=owners).exclude(pk__in=EngineProcess.objects.alive().values("pk"))
        leases = Task.objects.active().filter(lease_expires_at__gt=Now()).values("lease_owner")
        for owner in silent.exclude(pk__in=leases).values_list("pk", flat=True):
            process.forget(owner)


def _expire_leases_of_dead_processes() -> list[UUID]:
    """Expire the leases of processes that are known to be dead. Return the tasks that this frees."""
    held = Task.objects.active().exclude(lease_owner="").filter(lease_expires_at__gt=Now())
    freed: list[UUID] = []
    for owner in held.values_list("lease_owner", flat=True).order_by("lease_owner").distinct():
        if process.is_dead(owner):
            freed += held.filter(lease_owner=owner).values_list("pk", flat=True)
            Task.objects.filter(lease_owner=owner).update(lease_expires_at=_seconds_ago(1))
    return freed


def _seconds_ago(seconds: int) -> "ExpressionWrapper[CombinedExpression]":
    return ExpressionWrapper(Now() - timedelta(seconds=seconds), output_field=DateTimeField())


def close_expired() -> None:
    """Reject approvals that nobody gave in time, each in its own transaction. An answer that comes first wins."""
    expired = Approval.objects.expired().filter(tool_call__task__waiting_for=WaitingFor.APPROVAL)
    for approval in expired.select_related("tool_call__task__session")[:_BATCH]:
        _close_approval(approval)


def _close_approval(approval: Approval) -> None:
    task = approval.tool_call.task
    try:
        with transaction.atomic():
            lock(task.session)
            call = open_call.awaited_call(task, approval.tool_call.call_id)
            settle(task, call, Decision.REJECTED, note=NOBODY_CAME)
    except NothingToAnswer:
        return
