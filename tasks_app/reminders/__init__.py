"""What the engine says to the model. Each reminder is one function, which has its text and, where it can, its trigger.

They are grouped by the moment at which they come. Reminders are entries like any other.
"""

from tasks_app.reminders.before_step import budget, language, stale_plan, tool_limit, tool_list, workflow_step
from tasks_app.reminders.on_history import forked, summary
from tasks_app.reminders.on_message import interruption, task_start
from tasks_app.reminders.on_reply import deferred, missing_call, unreadable_call
from tasks_app.reminders.on_result import cycle, loop

__all__ = [
    "budget",
    "cycle",
    "deferred",
    "forked",
    "interruption",
    "language",
    "loop",
    "missing_call",
    "stale_plan",
    "summary",
    "task_start",
    "tool_limit",
    "tool_list",
    "unreadable_call",
    "workflow_step",
]
