"""The tasks that wait for a person."""

from typing import Any

from django.db.models import Q, QuerySet

from tasks_app.models import Approval, Session, Task, WaitingFor


def tasks_waiting_for(user: Any) -> QuerySet[Task]:
    """Tasks with a question, where the user may write, or with a call that they may approve; the longest wait first.

    Among the latter are tasks of sessions that the user may not see: of those, they may know the call alone.
    """
    asked = Q(waiting_for=WaitingFor.REPLY, session__in=Session.objects.writable_by(user))
    to_decide = Q(pk__in=Approval.objects.decidable_by(user).values("tool_call__task"))
    waiting = Task.objects.filter(waiting_for__isnull=False)
    return waiting.filter(asked | to_decide).order_by("session__updated_at")
