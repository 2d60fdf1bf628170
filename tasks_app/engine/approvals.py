"""The approval that a call needs: requested once, bound to the exact call, used once."""

from django.utils import timezone

from tasks_app.models import Approval, ApprovalScope, CallStatus, Decision
from tasks_app.run import ApprovalNeeded, TaskContext
from tasks_app.run.open_call import OpenCall
from tools_app.contract import Danger, Judgement

EVERY_CALL = "every call of this tool needs an approval"


def require_approval(context: TaskContext, call: OpenCall, judgement: Judgement) -> str:
    """Return who approved the call, as a sentence. The judgement has the rule why it needs an approval.

    A rejection never comes here: it is the result of the call as soon as it is given.

    Raises: ApprovalNeeded until there is an approval.
    """
    redacted = context.secrets.redactor.redacted  # both may quote the call
    reason, covers = redacted(judgement.rule or EVERY_CALL)[:300], redacted(judgement.covers)[:200]
    approval = getattr(call.log, "approval", None)
    if approval is None:
        earlier = _earlier_approval(context, call, judgement.danger, reason, covers)
        new = Approval(tool_call=call.log, reason=reason, covers=covers)
        return earlier or _request_approval(context, call, new)
    if approval.fingerprint != call.log.fingerprint:  # the approved call is not the one that would run
        return _request_approval(context, call, approval)
    if approval.decision == Decision.PENDING:
        raise ApprovalNeeded()
    if approval.consumed_at is not None and call.log.status != CallStatus.STARTED:  # used up by a run before a crash
        return _request_approval(context, call, approval)
    approval.consumed_at = timezone.now()
    context.stage(rows=[approval])
    note = f" They say: {approval.note}" if approval.note else ""
    return f"Approved by {approval.decided_by}.{note}"


def _request_approval(context: TaskContext, call: OpenCall, approval: Approval) -> str:
    approval.fingerprint, approval.decision = call.log.fingerprint, Decision.PENDING
    approval.decided_by = approval.decided_at = approval.consumed_at = None
    approval.expires_at = timezone.now() + context.settings.limits.approval_time
    context.stage(rows=[call.log, approval])
    context.withdraw_stream()  # people must not read a message before its approval
    raise ApprovalNeeded()


def _earlier_approval(context: TaskContext, call: OpenCall, danger: Danger, reason: str, covers: str) -> str:
    """Return who approved such calls for the entire task, as a sentence, or ''.

    An approval for the task covers later calls of the same tool, raised by the same rule at no higher level, with the
    commands that the person read. The rule of a deletion that cannot be undone names the path, so each deletion is
    asked about. With four eyes, each call needs its own approval.
    """
    setting = context.settings.policy.settings.get(call.call.name)
    if setting is not None and setting.four_eyes:
        return ""
    earlier = Approval.objects.filter(
        tool_call__task=context.task,
        tool_call__name=call.call.name,
        tool_call__danger__in=[level.word for level in Danger if level >= danger],
        reason=reason,
        covers=covers,
        decision=Decision.APPROVED,
        scope=ApprovalScope.TASK,
    ).select_related("decided_by")
    return f"Approved for this task by {earlier[0].decided_by}." if earlier else ""
