"""Approvals that nobody gave in time: they are a no, and their tasks go on."""

from django.db import transaction

from tasks_app.errors import NothingToAnswer
from tasks_app.interaction import resume
from tasks_app.interaction.decide import settle
from tasks_app.models import Approval
from tasks_app.models.approval import Decision
from tasks_app.models.task import WaitingFor
from tasks_app.record.append import lock

NOBODY_CAME = "nobody approved it in time. Find another way, or say in the result what was left undone."
_AT_ONCE = 100


def close_expired() -> None:
    """Rejects them, each in a transaction of its own. Whose answer comes in the same instant is not overruled."""
    expired = Approval.objects.expired().filter(tool_call__task__waiting_for=WaitingFor.APPROVAL)
    for approval in expired.select_related("tool_call__task__session")[:_AT_ONCE]:
        _close(approval)


def _close(approval: Approval) -> None:
    task = approval.tool_call.task
    try:
        with transaction.atomic():
            lock(task.session)
            call = resume.open_call(task, approval.tool_call.call_id)
            settle(task, call, Decision.REJECTED, note=NOBODY_CAME)
    except NothingToAnswer:
        return
