"""Wake-ups: messages to workers to look at a task. They are sent after the commit, and loss or delay does no harm."""

import logging
from functools import partial
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import transaction

from tasks_app.runtime import broadcast, cancellation, log_ids

logger = logging.getLogger(__name__)
ADVANCE_TASK = "tasks_app.advance_task"


def wake(task_id: UUID) -> None:
    """Enqueue a task once the transaction has committed."""
    transaction.on_commit(partial(enqueue, task_id))


def enqueue(task_id: UUID) -> None:
    """Send one message to the broker. If that is down, any worker's reaper finds the row."""
    try:
        headers = {log_ids.HEADER: log_ids.current_ids().get("request", "")}
        current_app.send_task(ADVANCE_TASK, args=[str(task_id)], headers=headers)
    except broadcast.unreachable() as error:
        logger.warning("could not enqueue task %s, the reaper will: %s", task_id, error)


def interrupt(task_id: UUID) -> None:
    """Notify the process that runs a task, after the commit, that a person interrupts it.

    A poll replaces a lost message.
    """
    transaction.on_commit(partial(_interrupt, task_id))


def _interrupt(task_id: UUID) -> None:
    if not cancellation.signal(task_id):
        _broadcast("interrupt", task_id)


def notify_holder(task_id: UUID) -> None:
    """Notify all workers that a task waits for the one that holds its session's resources. A poll finds it as well."""
    _broadcast("look_after", task_id)


def _broadcast(command: str, task_id: UUID) -> None:
    if settings.EMBEDDED:
        return
    try:
        with current_app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, timeout=1)
            current_app.control.broadcast(command, arguments={"task_id": str(task_id)}, connection=connection)
    except broadcast.unreachable() as error:
        logger.warning("could not signal task %s, its worker will poll: %s", task_id, error)
