"""Decisions on the call that waits for approval, and the people who can make them."""

from typing import Any

from django.utils import timezone

from tasks_app.models import Approval, ApprovalScope, CallStatus, Decision, Session, Task, WaitingFor
from tasks_app.models.errors import NothingToAnswer
from tasks_app.record import Draft, append_entries
from tasks_app.run import open_call
from tasks_app.run.open_call import OpenCall
from tools_app.models import ToolSetting


def settle(
    task: Task, call: OpenCall, decision: str, *, by: Any = None, note: str = "", scope: str = ApprovalScope.ONCE
) -> None:
    """End the wait with a decision; a rejection is the result of the call.

    The caller's transaction holds the session's lock.

    Raises: NothingToAnswer if another decision came first.
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
    rule = Approval.objects.values_list("reason", flat=True).get(tool_call=call.log)
    text = f"Not run: {by} rejected this call. Rule: {rule}." + (f" They say: {note}" if note else "")
    return call.result(text, CallStatus.REJECTED, author=by.get_username())


def refusal_reason(approval: Approval, user: Any, decision: str = Decision.APPROVED) -> str:
    """Return the reason why this person cannot decide, as a sentence, or ''.

    People who can write in the session can always reject: a message of theirs would end the call, too.
    """
    if decision == Decision.REJECTED and can_reject(approval, user):
        return ""
    if Approval.objects.decidable_by(user).filter(pk=approval.pk).exists():
        return ""
    setting = setting_of(approval)
    task = approval.tool_call.task
    has_instructed = task.started_by_id == user.pk or task.entries.written_by(user).exists()
    if setting is not None and setting.four_eyes and has_instructed:
        return "It is waiting for someone other than you: this tool needs a second person's approval."
    if setting is not None and setting.approvers is not None:
        return f"It is waiting for someone with the role {setting.approvers}."
    return "It is waiting for someone who may write in this session."


def can_reject(approval: Approval, user: Any) -> bool:
    return Session.objects.writable_by(user).filter(tasks=approval.tool_call.task_id).exists()


def is_single(approval: Approval) -> bool:
    """Return whether a decision holds for this call only, never for later ones of the task."""
    setting = setting_of(approval)
    return setting is not None and setting.four_eyes


def setting_of(approval: Approval) -> ToolSetting | None:
    return ToolSetting.objects.select_related("approvers").filter(name=approval.tool_call.name).first()
