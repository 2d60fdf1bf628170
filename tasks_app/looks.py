"""States in people's words: an icon, a tone, and a word or two, so that colour alone never says anything."""

from dataclasses import dataclass
from typing import Literal

from tasks_app.models import TaskState
from tasks_app.models.task import ENDED, WaitingFor
from tasks_app.models.tool_call import CallStatus

Tone = Literal["calm", "busy", "asks", "good", "bad"]


@dataclass(frozen=True)
class Look:
    words: str
    icon: str
    tone: Tone


CALLS = {
    CallStatus.PENDING: Look("Waiting", "clock", "calm"),
    CallStatus.STARTED: Look("Running", "running", "busy"),
    CallStatus.WAITING: Look("Waiting for an answer", "question", "asks"),
    CallStatus.SUCCEEDED: Look("Done", "check", "good"),
    CallStatus.FAILED: Look("Failed", "cross", "bad"),
    CallStatus.BLOCKED: Look("Blocked", "blocked", "bad"),
    CallStatus.REJECTED: Look("Rejected", "blocked", "calm"),
    CallStatus.INTERRUPTED: Look("Interrupted", "stop", "calm"),
    CallStatus.UNKNOWN: Look("Outcome unknown", "alert", "bad"),
}
_TASKS = {
    TaskState.INITIALIZING: Look("Starting", "running", "busy"),
    TaskState.THINKING: Look("Thinking", "running", "busy"),
    TaskState.EXECUTING_TOOL: Look("Working", "running", "busy"),
    TaskState.FINALIZING: Look("Finishing", "running", "busy"),
    TaskState.DONE: Look("Done", "check", "good"),
    TaskState.FAILED: Look("Failed", "alert", "bad"),
}
_WAITING = {
    WaitingFor.REPLY: Look("Asks you", "question", "asks"),
    WaitingFor.APPROVAL: Look("Needs approval", "shield", "asks"),
}
_STOPPED = Look("Stopped", "stop", "calm")


def of_task(state: str, waiting_for: str | None, *, stopped: bool) -> Look:
    if waiting_for:
        return _WAITING[WaitingFor(waiting_for)]
    return _STOPPED if stopped else _TASKS[TaskState(state)]


def is_active(state: str) -> bool:
    return state not in ENDED
