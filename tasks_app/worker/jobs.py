"""What Celery runs. A message says "look at this task": whether there is something to do, the row decides."""

import logging
from uuid import UUID

from celery import shared_task
from celery.worker.control import control_command
from django.db import DatabaseError, OperationalError, connection

from tasks_app.engine import loop
from tasks_app.engine.closing import close_open_call
from tasks_app.events import event_loop, stream_buffer
from tasks_app.models import FailureCode, Task
from tasks_app.run import Failed, TaskContext, UnitOfWork, affinity
from tasks_app.runtime import cancellation, lease
from tasks_app.runtime.wakeup import ADVANCE_TASK, enqueue, hand_on
from tasks_app.workspaces import sandbox, workspace_of

logger = logging.getLogger(__name__)
MOST_CRASHES = 3  # claims in a row that ended with a dead worker; then the task is taken for the cause


@shared_task(name=ADVANCE_TASK, ignore_result=True)
def advance_task(task_id: str) -> None:
    advance(UUID(task_id))


def advance(task_id: UUID) -> None:
    """Claims a task and advances it until it waits, ends, or its time slice is over.

    One whose session's page another worker holds is left to that worker.
    """
    task = None
    try:
        if affinity.is_held_elsewhere(task_id):
            return hand_on(task_id)
        task = lease.claim(task_id)
        if task is not None:
            _advance(task)
    except lease.StaleLease as error:
        logger.info("taken over by another worker: %s", error)
    except OperationalError as error:
        logger.warning("the database was busy under task %s, it is tried again: %s", task_id, error)
        _try_again(task_id, task)
    except DatabaseError:
        logger.exception("the database failed under task %s; its lease runs out and it goes on then", task_id)
    finally:
        connection.close_if_unusable_or_obsolete()


def _try_again(task_id: UUID, task: Task | None) -> None:
    """At once, not when its lease runs out. How often is bounded as for crashes: each one counts."""
    try:
        if task is not None:
            lease.expire(task)
        enqueue(task_id)
    except DatabaseError as error:
        logger.warning("the database is still busy; task %s goes on when its lease runs out: %s", task_id, error)


def _advance(task: Task) -> None:
    context = TaskContext(task, workspace_of(task.session), sandbox())
    with cancellation.announced(task.id, context.interruption):
        _run(context)
    context.allowance.release()
    lease.release(task)
    if Task.objects.runnable().filter(pk=task.pk).exists():
        enqueue(task.id)
    else:
        event_loop.submit(stream_buffer.store.drop(task.id))


def _run(context: TaskContext) -> None:
    """Runs the loop; a fault of our own ends the task with a sentence, never with a traceback."""
    try:
        if context.task.crashes > MOST_CRASHES:
            return _fail(
                context,
                FailureCode.TOOL_CRASHED,
                "The server crashed several times at this step, so the task was given up.",
            )
        loop.run(context)
    except (lease.StaleLease, DatabaseError):
        raise
    except Exception:
        logger.exception("task %s failed by a fault of the server", context.task.id)
        _fail(context, FailureCode.INTERNAL, "The server failed; an administrator can find the details in the log.")


def _fail(unit: UnitOfWork, code: FailureCode, detail: str) -> None:
    unit.discard_staged()
    failed = Failed(code, detail, *close_open_call(unit, "Not run: the task has failed."))
    unit.commit(*failed.entries, **failed.fields)


@control_command(args=[("task_id", str)], signature="TASK_ID")
def interrupt(state: object, task_id: str) -> None:
    """A person wants the task interrupted: told to all workers, heard by the one that runs it."""
    cancellation.signal(UUID(task_id))


@control_command(args=[("task_id", str)], signature="TASK_ID")
def look_after(state: object, task_id: str) -> None:
    """A task waits for the worker that holds something for its session: told to all workers."""
    affinity.called.set()
