"""Reasons why a task makes no progress, read from its rows and told as sentences for people."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from llm_app.models import BreakerState, Route
from tasks_app.models import (
    PERSON_WAITS,
    Approval,
    CallStatus,
    ContextEntry,
    ContextType,
    EngineProcess,
    Task,
    TaskState,
    ToolCallLog,
    WaitingFor,
)
from tasks_app.record import redactor_of
from tasks_app.runtime import admission, suspects

MAX_STUCK_TASKS = 10  # limit of reported tasks
_STUCK_AFTER = timedelta(minutes=1)  # runnable without a worker
_SILENT_AFTER = timedelta(minutes=30)  # claimed, but without a new entry
_LATE_STOP_AFTER = timedelta(seconds=10)  # a requested stop without effect
_FREE_WORKER_HINT = "If this lasts, start more workers, or raise AGENTSITE_THREADS."


class ReasonKind(StrEnum):
    """The kind of a reason. `fault`: needs repair. `person`: needs a person's action. `normal`: continues by
    itself.
    """

    FAULT = "fault"
    PERSON = "person"
    NORMAL = "normal"


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A reason. `since` is its beginning, if known. `process` names the process concerned, for operators."""

    kind: ReasonKind
    sentence: str
    hint: str = ""
    since: datetime | None = None
    process: str = ""


def reasons(task: Task) -> list[Reason]:
    """Return one or more redacted reasons, the most likely first. Reads only the database."""
    redactor = redactor_of(task.session)  # stored texts may contain newer secrets
    return [replace(reason, sentence=redactor.redacted(reason.sentence)) for reason in _reasons(task)]


def _reasons(task: Task) -> list[Reason]:
    if not task.is_active:
        end = "This fork has only its beginning." if task.is_cut_off else task.failure_detail or "It has its result."
        return [Reason(kind=ReasonKind.NORMAL, sentence=f"The task has ended. {end}", since=task.ended_at)]
    if task.waiting_for == WaitingFor.CHILDREN:
        return list(_children_reasons(task))
    if task.waiting_for == WaitingFor.SIBLINGS:
        sentence = "It starts when one of the tasks beside it has ended: only so many of them run at once."
        return [Reason(kind=ReasonKind.NORMAL, sentence=sentence, since=task.created_at)]
    if task.waiting_for:
        return [_person_reason(task)]
    all_reasons = [*_stop_reasons(task), *(_worker_reasons(task) if task.lease_owner else _unclaimed_reasons(task))]
    return sorted(all_reasons, key=lambda reason: reason.kind != ReasonKind.FAULT)


def stuck_tasks() -> list[Task]:
    """Return active tasks without progress, oldest first. Tasks that wait for a person or for admission do not
    count.
    """
    now = timezone.now()
    entries = ContextEntry.objects.filter(session=OuterRef("session"), created_at__gt=now - _SILENT_AFTER)
    not_woken = Q(woken_at__lt=now - _STUCK_AFTER) | Q(woken_at=None, created_at__lt=now - _STUCK_AFTER)
    tasks = Task.objects.runnable().select_related("session")
    unclaimed = tasks.unclaimed().filter(not_woken, Q(lease_owner="") | Q(lease_expires_at__lt=now - _STUCK_AFTER))
    silent_tasks = tasks.exclude(lease_owner="").filter(~Exists(entries), created_at__lt=now - _SILENT_AFTER)
    late_stops = tasks.filter(stop_requested_at__lt=now - _LATE_STOP_AFTER)
    children = Task.objects.filter(parent_call__task=OuterRef("pk"))
    recent_children = children.filter(Q(ended_at=None) | Q(ended_at__gt=now - _STUCK_AFTER))
    waiting_parents = Task.objects.filter(~Exists(recent_children), waiting_for=WaitingFor.CHILDREN).select_related(
        "session"
    )
    oldest = (unclaimed | silent_tasks | late_stops | waiting_parents).order_by("created_at").distinct()
    return list(islice((task for task in oldest if not admission.position_of(task)), MAX_STUCK_TASKS))


def _person_reason(task: Task) -> Reason:
    if task.waiting_for == WaitingFor.REPLY:
        questions = ContextEntry.objects.filter(session=task.session_id, task=task, context_type=ContextType.AI_MESSAGE)
        return Reason(
            kind=ReasonKind.PERSON,
            sentence="The agent has asked a question and waits for the answer.",
            hint="Answer it in the chat.",
            since=questions.order_by("-seq").values_list("created_at", flat=True).first(),
        )
    approval = Approval.objects.waiting().filter(tool_call__task=task).select_related("tool_call").first()
    if approval is None:
        sentence = "The call that waited for approval has expired; it is rejected within seconds."
        return Reason(kind=ReasonKind.NORMAL, sentence=sentence)
    end = f" It is rejected on {approval.expires_at:%-d %B at %H:%M} UTC." if approval.expires_at else ""
    sentence = f"A call of {approval.tool_call.name} waits for approval.{end}"
    hint = "Approve or reject it in the chat, or in the inbox."
    return Reason(kind=ReasonKind.PERSON, sentence=sentence, hint=hint, since=approval.created_at)


def _children_reasons(task: Task) -> Iterator[Reason]:
    """Yield the children that need a person, then the number of children that have ended."""
    delegated = Task.objects.filter(parent_call__task=task, parent_call__status=CallStatus.WAITING).order_by("number")
    for child in delegated.filter(waiting_for__in=PERSON_WAITS).select_related("session"):
        reason = _person_reason(child)
        yield replace(reason, sentence=f"Task {child.number}, “{child.session}”: {reason.sentence}")
    ended = delegated.exclude(ended_at=None).count()
    sentence = f"It waits for the tasks that it has delegated; {ended} of {len(delegated)} have ended."
    yield Reason(kind=ReasonKind.NORMAL, sentence=sentence)


def _stop_reasons(task: Task) -> Iterator[Reason]:
    if task.stop_requested_at:
        is_late = task.stop_requested_at < timezone.now() - _LATE_STOP_AFTER
        yield Reason(
            kind=ReasonKind.FAULT if is_late else ReasonKind.NORMAL,
            sentence="Somebody has stopped it, and its worker has not ended it yet.",
            hint="If it stays so, an administrator should restart the worker." if is_late else "",
            since=task.stop_requested_at,
        )


def _worker_reasons(task: Task) -> Iterator[Reason]:
    if task.lease_expires_at and task.lease_expires_at < timezone.now():
        sentence = "Its worker has stopped responding. Another takes the task over within seconds."
        yield Reason(kind=ReasonKind.FAULT, sentence=sentence, since=task.lease_expires_at, process=task.lease_owner)
        yield from _missing_worker_reasons()
        return
    if task.crashes:
        limit = suspects.MOST_CRASHES + 1
        sentence = f"Its worker died {task.crashes} times since its last result; at {limit} it is given up."
        hint = "The log of the workers says why."
        if suspects.is_suspect(task):
            hint = f"It runs alone until it has a result, so it may wait for others. {hint}"
        yield Reason(kind=ReasonKind.FAULT, sentence=sentence, hint=hint)
    yield _activity(task)


def _activity(task: Task) -> Reason:
    running = ToolCallLog.objects.filter(task=task, status=CallStatus.STARTED).first()
    if running is not None:
        hint = "Stop ends it; a message interrupts it."
        return Reason(
            kind=ReasonKind.NORMAL, sentence=f"The tool {running.name} is running.", hint=hint, since=running.started_at
        )
    if silence := task.silent_provider:
        since, end = (datetime.fromisoformat(silence[name]) for name in ("since", "gives_up_at"))
        silent_for, limit = (round((moment - since).total_seconds()) for moment in (timezone.now(), end))
        sentence = f"Nothing from {silence['provider']} for {silent_for} s, gives up at {limit} s."
        hint = "Stop ends it; a message interrupts it."
        return Reason(
            kind=ReasonKind.NORMAL, sentence=f"{sentence} {_paused_providers(task)}".strip(), hint=hint, since=since
        )
    newest = ContextEntry.objects.filter(session=task.session_id).order_by("-seq").first()
    since = newest.created_at if newest else task.created_at
    if newest is not None and newest.context_type == ContextType.STATUS_NOTICE:
        return Reason(kind=ReasonKind.NORMAL, sentence=newest.content, since=since)
    if task.state == TaskState.FINALIZING:
        return Reason(kind=ReasonKind.NORMAL, sentence="The result is there and is being stored.", since=since)
    return Reason(
        kind=ReasonKind.NORMAL, sentence=f"The model is working. {_paused_providers(task)}".strip(), since=since
    )


def _paused_providers(task: Task) -> str:
    """Return a sentence with the model's providers that are paused after failures, or ""."""
    model = task.session.model.name if task.session.model else ""
    routes = Route.objects.usable_for(model, task.started_by_id, task.pk)
    paused = routes.filter(provider__circuit_breaker__state=BreakerState.OPEN)
    names = ", ".join(sorted(set(paused.values_list("provider__name", flat=True))))
    return f"Calls to {names} are paused after failures." if names else ""


def _unclaimed_reasons(task: Task) -> Iterator[Reason]:
    if task.terminal:
        sentence, hint = "It belongs to a terminal, which alone continues it.", "Stop it here if that terminal is gone."
        yield Reason(kind=ReasonKind.NORMAL, sentence=sentence, hint=hint, process=task.terminal)
        return
    faults = list(_missing_worker_reasons())
    yield from faults
    holder = task.session.held_by
    if not faults and holder and EngineProcess.objects.alive().filter(pk=holder).exists():
        held = ", ".join(task.session.held.values())
        sentence = f"It waits for the worker that holds this for the session: {held}."
        yield Reason(kind=ReasonKind.NORMAL, sentence=sentence, process=holder)
    elif not faults and (position := admission.position_of(task)):
        sentence = f"As many tasks are running as may run. It is number {position} in the queue."
        yield Reason(kind=ReasonKind.NORMAL, sentence=sentence, since=task.created_at)
    elif not faults:
        since = task.woken_at or task.created_at
        yield Reason(
            kind=ReasonKind.NORMAL, sentence="It waits for a free worker.", hint=_FREE_WORKER_HINT, since=since
        )


def _missing_worker_reasons() -> Iterator[Reason]:
    if not EngineProcess.objects.alive().exists():
        last = EngineProcess.objects.order_by("-seen_at").first()
        hint = "An administrator has to start a worker; `manage.py doctor` says how."
        since = last.seen_at if last else None
        yield Reason(kind=ReasonKind.FAULT, sentence="No worker is running.", hint=hint, since=since)
