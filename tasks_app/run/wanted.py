"""Whether a person wants a task to leave what it is doing: to stop, or to hear what they wrote."""

from django.db import connection

from tasks_app.models import Task
from tasks_app.models.inbox import Mode

_ASKED = """
    SELECT EXISTS (SELECT 1 FROM tasks WHERE id = %s AND stop_requested_at IS NOT NULL) OR EXISTS (
        SELECT 1 FROM inbox_messages WHERE session_id = %s AND delivered_seq IS NULL AND mode = %s)
"""


def interrupt_requested(task: Task) -> bool:
    """By hand, for it is asked at each step and twice a second beside it, and nearly always answered by no."""
    prepared = Task._meta.pk.get_db_prep_value
    keys = [prepared(key, connection) for key in (task.pk, task.session_id)]
    with connection.cursor() as cursor:
        cursor.execute(_ASKED, [*keys, Mode.INTERJECT.value])
        return bool(cursor.fetchone()[0])
