"""What ends with a person's account."""

from typing import Any

from tasks_app.models import Task
from tasks_app.services.messages import stop


def stop_tasks(instance: Any, **of_signal: Any) -> None:
    """After a person was saved: what runs for a closed account is stopped. What waits of it starts nothing either."""
    if not instance.is_active:
        tasks = Task.objects.active().filter(started_by=instance).select_related("session")
        for task in tasks.order_by("created_at"):  # from the top down, as their locks are taken
            stop(task)
