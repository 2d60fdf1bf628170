"""The tasks that wait for a person."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from llm_app.composed_query import Select
from tasks_app.models import Approval, Session, Task, WaitingFor


def tasks_waiting_for(user: Any) -> QuerySet[Task]:
    """Tasks with a question, where the user may write, or with a call that they may approve; the longest wait first.

    Among the latter are tasks of sessions that the user may not see: of those, they may know the call alone.
    """
    # Few tasks wait: each of them is looked at, not all sessions and calls.
    mine = Exists(Session.objects.writable_by(user).filter(pk=OuterRef("session")))
    to_decide = Exists(Approval.objects.decidable_by(user).filter(tool_call__task=OuterRef("pk")))
    waiting = Task.objects.filter(waiting_for__isnull=False)
    return waiting.filter((Q(waiting_for=WaitingFor.REPLY) & mine) | to_decide).order_by("session__updated_at")


def all_waiting_for(user: Any) -> list[Task]:
    """With their sessions, and the owners of these."""
    return _waiting.rows(user.pk)


def count_waiting_for(user: Any) -> int:
    """How many questions and approvals wait for the user: each page says it."""
    return len(_keys_waiting.rows(user.pk))


_waiting = Select(lambda user: tasks_waiting_for(user).select_related("session__owner"))
_keys_waiting = Select(lambda user: tasks_waiting_for(user).order_by().values_list("pk"))
