"""Children, the tasks that a call has delegated, each in its own session, and the tree of tasks.

A parent waits without a thread. The process that ends a child then calls `advance_call` for the parent's call, and the
reaper repeats lost calls. Locks are taken from the top down: the holder of a child's lock never waits for its parent's.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from llm_app.budgets import BudgetTree, Share
from tasks_app.models import Agent, CallStatus, ContextType, Limits, Session, Task, ToolCallLog, WaitingFor
from tasks_app.models.errors import NothingToAnswer
from tasks_app.models.task import TaskQuerySet
from tasks_app.record import Draft, append_entries, lock
from tasks_app.run import open_call
from tasks_app.run.next_task import title_of
from tasks_app.runtime import broadcast, wakeup
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import files_of, workspace_of
from tools_app.contract import Delegate, DelegatedTask
from tools_app.errors import ToolError

logger = logging.getLogger(__name__)
FOLDER = "children"
LEAST_ITERATIONS = 15  # of a child, if its parent has so many left


@dataclass(frozen=True, kw_only=True)
class Grant:
    """Each child's limits: its share of the parent's iterations, tokens, money and time."""

    iterations: int
    tokens: int | None
    usd: Decimal | None
    deadline: datetime

    @classmethod
    def of(cls, parent: Task, count: int) -> "Grant":
        """Return an equal share for each of `count` children, never more than the parent has left."""
        limits, tree = Limits.current(), tree_of(parent)
        iterations_left = max(1, (parent.max_iterations or limits.max_iterations) - parent.iteration)
        tokens, usd = tree.remaining(parent.started_by_id)
        ends_at = timezone.now() + timedelta(minutes=limits.children_minutes)
        return cls(
            iterations=max(iterations_left // count, min(iterations_left, LEAST_ITERATIONS)),
            tokens=None if tokens is None else int(tokens) // count,
            usd=None if usd is None else usd / count,
            deadline=min(filter(None, [ends_at, parent.deadline])),
        )


def start(parent: Task, call: ToolCallLog, wanted: Delegate, first: int) -> None:
    """Create the children, in the transaction in which the parent begins to wait.

    Their folders are numbered from `first`.
    """
    grant, parallel_limit = Grant.of(parent, len(wanted.tasks)), _parallel_limit(wanted.max_parallel)
    for index, delegated in enumerate(wanted.tasks):
        task = Task(
            session=_session(parent.session, delegated, first + index),
            started_by_id=parent.started_by_id,
            other_authors=parent.other_authors,
            parent_call=call,
            number=first + index,
            max_iterations=grant.iterations,
            token_share=grant.tokens,
            usd_share=grant.usd,
            deadline=grant.deadline,
            terminal=parent.terminal,
            output_schema=delegated.output_schema,
            waiting_for=None if index < parallel_limit else WaitingFor.SIBLINGS,
        )
        task.save(force_insert=True)
        # The task's message is the parent agent's, and pages show it so.
        author = parent.session.acting_agent
        about = {"author": author.name if author else "Agent", "attachments": [], "delegated": True}
        message = Draft(context_type=ContextType.USER_MESSAGE, content=delegated.instruction, metadata=about)
        append_entries(task.session, task, [message])
        if not task.waiting_for:
            wakeup.wake(task.pk)


def _session(origin: Session, spec: DelegatedTask, number: int) -> Session:
    """Create a child's session. Its rights only shrink: each step of the child looks up the origin's restrictions."""
    agent = Agent.objects.get(name=spec.agent) if spec.agent else origin.acting_agent
    root = origin.root or origin
    return Session.objects.create(
        owner_id=origin.owner_id,
        root=root,
        project_id=Session.objects.values_list("project", flat=True).get(pk=root.pk),  # as it is now
        folder="/".join(filter(None, [origin.folder, FOLDER, str(number)])),
        title=title_of(spec.instruction),
        agent=agent,
        model=None if spec.agent and agent and agent.model_id else origin.model,
        allowed_tools=None if spec.tools is None else sorted(spec.tools),
        off_record=origin.off_record,
    )


def _parallel_limit(max_parallel: int | None) -> int:
    return max(1, min(filter(None, [max_parallel, Limits.current().children_at_once])))


def of_call(call: ToolCallLog) -> TaskQuerySet:
    """Return the children in the order of the call's list."""
    return Task.objects.filter(parent_call=call).select_related("session__root").order_by("number")


def advance_call(call_id: int) -> None:
    """Start the next children of a waiting call, or wake its task when all have ended. A repeated call does no harm."""
    call = ToolCallLog.objects.select_related("task__session").get(pk=call_id)
    _clean_up_folders(call)
    with transaction.atomic():
        lock(call.task.session)
        call.refresh_from_db(fields=["status"])
        if call.status != CallStatus.WAITING:
            return
        active = list(of_call(call).active())
        if not active:
            with suppress(NothingToAnswer):  # it is already awake
                open_call.resume(call.task, WaitingFor.CHILDREN)
        queued = [child for child in active if child.waiting_for == WaitingFor.SIBLINGS]
        parallel_limit = _parallel_limit(orjson.loads(call.arguments or "{}").get("max_parallel"))
        for child in queued[: max(0, parallel_limit - len(active) + len(queued))]:
            with suppress(NothingToAnswer):  # it was stopped in this instant
                open_call.resume(child, WaitingFor.SIBLINGS)


def _clean_up_folders(call: ToolCallLog) -> None:
    """Remove the mount points of children that have ended.

    A stop takes its time. Files that children changed after their call was closed still count as the call's changes.
    """
    ended = [child for child in of_call(call) if not child.is_active]
    try:
        for child in ended:
            files_of(child.session).remove_mount_points()
        if ended and call.status != CallStatus.WAITING:
            session, folders = call.task.session, [f"{FOLDER}/{child.number}" for child in ended]
            file_history.record(
                session, workspace_of(session), tool=call.name, task=call.task, call_id=call.call_id, only=folders
            )
    except (OSError, ToolError):  # a full disk, or a link in place of a folder
        logger.exception("could not clean up the folders of the children of session %s", call.session_id)


def remove_mount_points() -> None:
    """Remove the mount points of children that ended right before the server was killed."""
    active_tasks = Task.objects.active().filter(session=OuterRef("pk"))
    for session in Session.objects.exclude(root=None).exclude(Exists(active_tasks)).select_related("root").iterator():
        with suppress(ToolError):  # a program has put a link in its place
            files_of(session).remove_mount_points()


def stop(task: Task) -> None:
    """Stop all tasks below a task, in the caller's transaction, which holds the session's lock.

    It locks their sessions too, so a task that is about to wait or delegate either sees the stop or has already done
    it.
    """
    for child in _active_children(task):
        lock(child.session)
        not_stopped = Task.objects.active().filter(pk=child.pk, stop_requested_at=None)
        if not_stopped.update(stop_requested_at=timezone.now(), waiting_for=None):
            child.waiting_for = None
            transaction.on_commit(partial(broadcast.state_changed, child))
            wakeup.interrupt(child.pk)
            wakeup.wake(child.pk)
        stop(child)


def stalled_calls() -> Iterator[int]:
    """Yield calls whose wake-up was lost: all of their children have ended, or one waits for its turn."""
    for parent in Task.objects.filter(waiting_for=WaitingFor.CHILDREN):
        for call in parent.tool_calls.filter(status=CallStatus.WAITING):
            active = Task.objects.active().filter(parent_call=call)
            if not active.exists() or active.filter(waiting_for=WaitingFor.SIBLINGS).exists():
                yield call.pk


def ancestors(task: Task) -> list[Task]:
    """Return the parent, then the parent's parent, and so on."""
    result: list[Task] = []
    while (call := (result[-1] if result else task).parent_call) is not None:
        result.append(call.task)
    return result


def tree_of(task: Task) -> BudgetTree:
    """Return the budgets' view of the task: the root task that a person started, and each share on the way down."""
    if task.parent_call_id is None:
        return BudgetTree(top=task.pk)
    lineage = [task, *ancestors(task)]
    shares = [Share(task_id=member.pk, tokens=member.token_share, usd=member.usd_share) for member in lineage[:-1]]
    return BudgetTree(top=lineage[-1].pk, shares=tuple(shares))


def active_descendants(task: Task) -> list[Task]:
    """Return the active tasks that were delegated by it, directly or indirectly."""
    active = _active_children(task)
    return [*active, *(descendant for child in active for descendant in active_descendants(child))]


def _active_children(task: Task) -> list[Task]:
    return list(Task.objects.active().filter(parent_call__task=task).select_related("session"))


def count_delegated(task: Task) -> int:
    """Return how many tasks were delegated below the root task."""
    level: Sequence[UUID] = [[task, *ancestors(task)][-1].pk]
    count = 0
    while level:
        level = list(Task.objects.filter(parent_call__task__in=level).values_list("pk", flat=True))
        count += len(level)
    return count
