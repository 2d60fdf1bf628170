"""The end of a wait for a person: exactly one answer ends it, and only an answer to the very call that waits."""

from functools import partial

from django.db import transaction

from tasks_app.errors import NothingToAnswer
from tasks_app.events import broadcast
from tasks_app.interaction.open_call import OpenCall, pending_call
from tasks_app.models import ContextEntry, Task
from tasks_app.models.task import WaitingFor
from tasks_app.runtime import wakeup


def resume(task: Task, waiting_for: WaitingFor) -> None:
    """Raises NothingToAnswer for whoever comes second."""
    if not Task.objects.filter(pk=task.pk, waiting_for=waiting_for).update(waiting_for=None):
        raise NothingToAnswer()
    task.waiting_for = None
    transaction.on_commit(partial(broadcast.state_changed, task))
    wakeup.wake(task.pk)


def open_call(task: Task, call_id: str = "") -> OpenCall:
    """The call that waits. Whoever names another one saw an older page: what they meant is no longer asked."""
    entry = ContextEntry.objects.of(task.session).in_context().last()
    if entry is None or entry.call is None or call_id not in ("", entry.call["id"]):
        raise NothingToAnswer()
    return pending_call(entry)
