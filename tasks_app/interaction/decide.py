"""A decision on the call that waits for approval: a person's, or the rejection by an approval that has expired."""

from typing import Any

from django.utils import timezone

from tasks_app.errors import NothingToAnswer
from tasks_app.interaction import open_call
from tasks_app.interaction.open_call import OpenCall
from tasks_app.models import Approval, CallStatus, Decision, Scope, Task, WaitingFor
from tasks_app.record import Draft, append_entries


def settle(
    task: Task, call: OpenCall, decision: str, *, by: Any = None, note: str = "", scope: str = Scope.ONCE
) -> None:
    """Ends the wait; a rejection is the result of the call. In the caller's transaction, which holds the lock.

    Raises NothingToAnswer when another decision came first.
    """
    open_call.resume(task, WaitingFor.APPROVAL)
    pending = Approval.objects.filter(tool_call=call.log, decision=Decision.PENDING)
    if not pending.update(decision=decision, note=note, scope=scope, decided_by=by, decided_at=timezone.now()):
        raise NothingToAnswer()
    if decision == Decision.REJECTED:
        call.log.status = CallStatus.REJECTED
        call.log.save(update_fields=["status"])
        append_entries(task.session, task, _rejection(call, by, note))


def _rejection(call: OpenCall, by: Any, note: str) -> list[Draft]:
    if by is None:
        return call.result(f"Not run: {note}", CallStatus.REJECTED)
    words = f"Not run: {by} rejected this call." + (f" They say: {note}" if note else "")
    return call.result(words, CallStatus.REJECTED, author=by.get_username())
