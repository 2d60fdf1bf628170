"""The Celery tasks. A message only says "look at this task"; its row decides if there is work to do."""

import logging
from concurrent.futures import wait
from importlib import import_module
from typing import Any
from uuid import UUID

from celery import shared_task
from celery.worker.control import control_command
from django.conf import settings
from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection

from tasks_app.engine import loop
from tasks_app.engine.closing import close_open_call
from tasks_app.models import FailureCode, IdempotencyKey, Task, TaskState
from tasks_app.record import unused_blobs
from tasks_app.run import Failed, Stopped, TaskContext, UnitOfWork, affinity
from tasks_app.runtime import (
    admission,
    broadcast,
    cancellation,
    event_loop,
    lease,
    live_stream,
    log_ids,
    process,
    stream_buffer,
    suspects,
    work_slots,
)
from tasks_app.runtime.broadcast import drop_broken_connections
from tasks_app.runtime.suspects import MOST_CRASHES
from tasks_app.runtime.wakeup import ADVANCE_TASK, enqueue, notify_holder
from tasks_app.services.sessions import title_from_model
from tasks_app.workspace.folders import sandbox, update_usage, workspace_of
from tools_app.files import Workspace

logger = logging.getLogger(__name__)
WITHDRAWN_SECONDS = 5.0  # timeout for withdrawing a stream


@shared_task(name=ADVANCE_TASK, ignore_result=True, bind=True)
def advance_task(self: Any, task_id: str) -> None:
    request = (self.request.headers or {}).get(log_ids.HEADER)
    with log_ids.bound(task=task_id, request=request):
        advance(UUID(task_id))


@shared_task(name="tasks_app.clean_up", ignore_result=True)
def clean_up() -> None:
    """Delete expired rows and orphaned blobs. Celery beat starts it; two concurrent runs do no harm."""
    try:
        IdempotencyKey.objects.expired().delete()
        import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
        unused_blobs.delete_unused()
    finally:
        connection.close_if_unusable_or_obsolete()


def advance(task_id: UUID) -> None:
    """Claim a task and advance it until it waits, ends, or its time slice is over.

    A task whose session has resources held by another worker is left to that worker. A task that already runs in this
    process is left to its thread, which reads the row again when it is done.
    """
    task = None
    try:
        if cancellation.is_running(task_id):
            return None
        if process.is_draining():
            return enqueue(task_id)
        with work_slots.held():  # before the first query: a thread that waits for its turn holds no database connection
            if affinity.is_held_elsewhere(task_id):
                return notify_holder(task_id)
            task = lease.claim(task_id)
            if task is not None:
                with log_ids.bound(task=task.id, session=task.session_id, user=task.started_by_id):
                    _advance_isolated(task)
    except lease.StaleLease as error:
        logger.info("another worker has taken over: %s", error)
    except (OperationalError, InterfaceError) as error:
        logger.warning("could not reach the database, retrying task %s: %s", task_id, error)
        _retry(task_id, task)
    except DatabaseError:
        logger.exception("a query of task %s failed; it resumes when its lease expires", task_id)
    finally:
        connection.close_if_unusable_or_obsolete()


def _retry(task_id: UUID, task: Task | None) -> None:
    """Expire the lease and enqueue the task immediately. Each retry counts as a crash, so their number is bounded."""
    try:
        drop_broken_connections()
        if task is not None:
            lease.expire(task)
        enqueue(task_id)
    except Error as error:
        logger.warning("still could not reach the database; task %s resumes when its lease expires: %s", task_id, error)


def _advance_isolated(task: Task) -> None:
    """Run a suspect alone. A task that must wait for a suspect returns its lease, so that no crash counts for it."""
    with suspects.isolating_suspects(task) as can_run:
        if can_run:
            _advance(task)
        else:
            logger.info("postponed: a task that may have crashed the server runs alone")
            lease.release(task)


def _advance(task: Task) -> None:
    logger.info("claimed in state %s, epoch %d", task.state, task.epoch)
    if task.crashes:
        _withdraw_interrupted_stream(task)
    if context := _build_context(task):
        with cancellation.interruptible(task.id, context.interruption):
            _run(context)
            if task.state == TaskState.DONE:
                title_from_model(context, context.settings.limits)
        context.allowance.release()
    lease.release(task)
    reason = task.failure_code or (f"waiting for {task.waiting_for}" if task.waiting_for else "")
    logger.info("released in state %s%s", task.state, f", {reason}" if reason else "")
    if Task.objects.runnable_key(task.pk) is not None:
        enqueue(task.id)
    else:
        if not task.terminal:  # a terminal's process has no broker to wake other workers
            admission.admit_waiting()
        event_loop.submit(stream_buffer.store.drop(task.id))
    update_usage(task.session)  # takes longer than a lease where files are many


def _withdraw_interrupted_stream(task: Task) -> None:
    """Remove the unfinished stream of a dead process, so that its text does not appear next to the repeated step's."""
    withdrawn = event_loop.submit(live_stream.withdraw_streams(task))
    withdrawn.add_done_callback(broadcast.log_failure_of)
    wait([withdrawn], WITHDRAWN_SECONDS)  # before the new stream begins


def _build_context(task: Task) -> TaskContext | None:
    """Return the task's context, or None after failing a task that has crashed too often or cannot be set up."""
    if task.crashes > MOST_CRASHES:
        _fail(
            task,
            FailureCode.TOOL_CRASHED,
            f"The server or its database failed {task.crashes} times while this task worked and had no result, so it "
            "was given up. Ask for less at once, or ask an administrator for the reason: it is in the server's log.",
        )
        return None
    try:
        return TaskContext(task, workspace_of(task.session), sandbox())
    except (lease.StaleLease, Error):
        raise
    except Exception:
        logger.exception("could not set up task %s", task.id)
        _fail_internally(task)
        return None


def _run(context: TaskContext) -> None:
    """Run the loop. A bug of the server ends the task with a sentence, never with a traceback."""
    try:
        loop.run(context)
    except (lease.StaleLease, Error):
        raise
    except Exception:
        logger.exception("task %s failed because of a bug in the server", context.task.id)
        _fail_internally(context.task, context)


def _fail_internally(task: Task, unit: UnitOfWork | None = None) -> None:
    _fail(task, FailureCode.INTERNAL, "The server failed; an administrator can find the details in the log.", unit)


def _fail(task: Task, code: FailureCode, detail: str, unit: UnitOfWork | None = None) -> None:
    """End the task, without a look at its files if that look fails too: otherwise the task would run forever."""
    try:
        _end(unit or UnitOfWork(task), workspace_of(task.session), code, detail)
    except (lease.StaleLease, Error):
        raise
    except Exception:
        logger.exception("could not record the file changes of task %s", task.id)
        _end(UnitOfWork(task), None, code, detail)


def _end(unit: UnitOfWork, workspace: Workspace | None, code: FailureCode, detail: str) -> None:
    """Fail the task, or mark it as stopped if a person has asked for a stop."""
    unit.discard_staged()
    closing = close_open_call(unit, workspace, "Not run: the task has failed.")
    failed = (
        Stopped("Stopped.", *closing) if unit.snapshot(fresh=True).stop_requested else Failed(code, detail, *closing)
    )
    unit.commit(*failed.entries, **failed.fields)


@control_command(args=[("task_id", str)], signature="TASK_ID")
def interrupt(state: object, task_id: str) -> None:
    """Signal that a person interrupts the task. The command goes to all workers; the one that runs the task reacts."""
    cancellation.signal(UUID(task_id))


@control_command(args=[("task_id", str)], signature="TASK_ID")
def look_after(state: object, task_id: str) -> None:
    """Signal that a task waits for the worker that holds its session's resources. The command goes to all workers."""
    affinity.task_waiting.set()
