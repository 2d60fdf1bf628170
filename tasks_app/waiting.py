"""What waits for a person's word."""

from typing import Any

from django.db.models import QuerySet

from tasks_app.models import Session, Task


def tasks_waiting_for(user: Any) -> QuerySet[Task]:
    """Tasks with a question or an approval, where the user may write; the longest wait first."""
    mine = Session.objects.writable_by(user)
    return Task.objects.active().filter(waiting_for__isnull=False, session__in=mine).order_by("session__updated_at")
