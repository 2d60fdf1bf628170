"""The reminders: texts that the engine adds to the record for the model.

Each is one function with its text and, where possible, its trigger. The modules group them by time.
"""

from tasks_app.run.reminders.before_step import (
    budget,
    language,
    project,
    same_tool,
    stale_plan,
    step_limit,
    tool_limit,
    tool_list,
    window,
    workflow_step,
)
from tasks_app.run.reminders.on_calls import cut_reply, cycle, deferred, loop, missing_call, unreadable_call
from tasks_app.run.reminders.on_event import (
    delegated,
    deleted,
    folder_instructions,
    forked,
    handoff,
    imported,
    interruption,
    jobs_ended,
    left_out,
    recalled,
    routing,
    summary,
    task_start,
    undone,
)

__all__ = [
    "budget",
    "cut_reply",
    "cycle",
    "deferred",
    "delegated",
    "deleted",
    "folder_instructions",
    "forked",
    "handoff",
    "imported",
    "interruption",
    "jobs_ended",
    "language",
    "left_out",
    "loop",
    "missing_call",
    "project",
    "recalled",
    "routing",
    "same_tool",
    "stale_plan",
    "step_limit",
    "summary",
    "task_start",
    "tool_limit",
    "tool_list",
    "undone",
    "unreadable_call",
    "window",
    "workflow_step",
]
