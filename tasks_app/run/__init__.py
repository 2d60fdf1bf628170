"""A running task in memory: its context, its unit of work, and its interrupts."""

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
from tasks_app.run.side_calls import make_call_for_person, make_side_call
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
    "make_call_for_person",
    "make_side_call",
]
