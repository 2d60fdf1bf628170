"""Effects of closing an account."""

from typing import Any

from tasks_app.models import Task
from tasks_app.services.messages import stop


def stop_tasks(instance: Any, **kwargs: Any) -> None:
    """Stop the tasks of a closed account after it was saved. Their queued messages start no task."""
    if not instance.is_active:
        tasks = Task.objects.active().filter(started_by=instance).select_related("session")
        for task in tasks.order_by("created_at"):  # parents first, in the order of locks
            stop(task)
