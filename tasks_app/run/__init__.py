"""A running task in memory: its context, its unit of work, and its interrupts."""

from tasks_app.run.aside import ask_aside, ask_for_person
from tasks_app.run.context import StepSettings, TaskContext
from tasks_app.run.history import History
from tasks_app.run.interrupts import (
    Aborted,
    ApprovalNeeded,
    ChildrenNeeded,
    Failed,
    Interrupt,
    LimitExceeded,
    LoopDetected,
    NoToolCall,
    Refused,
    ReplyNeeded,
    Stopped,
)
from tasks_app.run.unit_of_work import UnitOfWork

__all__ = [
    "Aborted",
    "ApprovalNeeded",
    "ChildrenNeeded",
    "Failed",
    "History",
    "Interrupt",
    "LimitExceeded",
    "LoopDetected",
    "NoToolCall",
    "Refused",
    "ReplyNeeded",
    "StepSettings",
    "Stopped",
    "TaskContext",
    "UnitOfWork",
    "ask_aside",
    "ask_for_person",
]
