"""The approval that a call needs: asked for once, bound to the exact call, used once."""

from django.utils import timezone

from tasks_app.engine.interrupts import ApprovalNeeded
from tasks_app.engine.open_call import OpenCall
from tasks_app.engine.task_context import TaskContext
from tasks_app.models import Approval
from tasks_app.models.approval import Decision, Scope
from tools_app.base import Danger, Judgement


def approved(context: TaskContext, call: OpenCall, judgement: Judgement) -> str:
    """By whose word the call runs. Raises ApprovalNeeded until there is one.

    A rejection never comes here: it is the result of the call from the moment it is given.
    """
    approval = getattr(call.log, "approval", None)
    if approval is None:
        return _covered(context, call, judgement) or _ask(context, call, judgement)
    usable = approval.decision == Decision.APPROVED and approval.consumed_at is None
    if not usable or approval.fingerprint != call.log.fingerprint:
        raise ApprovalNeeded()
    approval.consumed_at = timezone.now()
    context.stage(rows=[approval])
    return f"Approved by {approval.decided_by}."


def _ask(context: TaskContext, call: OpenCall, judgement: Judgement) -> str:
    approval = Approval(tool_call=call.log, fingerprint=call.log.fingerprint, reason=_reason(judgement))
    context.stage(rows=[call.log, approval])
    raise ApprovalNeeded()


def _covered(context: TaskContext, call: OpenCall, judgement: Judgement) -> str:
    """An approval for the task covers later calls of the same tool, raised by the same rule at no higher level."""
    levels = [level.word for level in Danger if level >= judgement.danger]
    earlier = Approval.objects.filter(
        tool_call__task=context.task,
        tool_call__name=call.call.name,
        tool_call__danger__in=levels,
        reason=_reason(judgement),
        decision=Decision.APPROVED,
        scope=Scope.TASK,
    ).select_related("decided_by")
    return f"Approved for this task by {earlier[0].decided_by}." if earlier else ""


def _reason(judgement: Judgement) -> str:
    return judgement.rule or "every call of this tool needs an approval"
