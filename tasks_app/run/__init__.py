"""A running task in memory: its context, its unit of work, and what interrupts it."""

from tasks_app.run.aside import ask_aside
from tasks_app.run.context import TaskContext
from tasks_app.run.interrupts import Aborted, ApprovalNeeded, Failed, Interrupt, LimitExceeded, ReplyNeeded

__all__ = [
    "Aborted",
    "ApprovalNeeded",
    "Failed",
    "Interrupt",
    "LimitExceeded",
    "ReplyNeeded",
    "TaskContext",
    "ask_aside",
]
