"""States in people's words: an icon, a tone, and a word or two, so that colour alone never says anything."""

from dataclasses import dataclass
from typing import Literal

from tasks_app.models import TaskState
from tasks_app.models.task import ENDED, WaitingFor
from tasks_app.models.tool_call import CallStatus

Tone = Literal["calm", "busy", "asks", "good", "bad"]


@dataclass(frozen=True)
class Badge:
    words: str
    icon: str
    tone: Tone


CALLS = {
    CallStatus.PENDING: Badge("Waiting", "clock", "calm"),
    CallStatus.STARTED: Badge("Running", "running", "busy"),
    CallStatus.WAITING: Badge("Waiting for an answer", "question", "asks"),
    CallStatus.SUCCEEDED: Badge("Done", "check", "good"),
    CallStatus.FAILED: Badge("Failed", "cross", "bad"),
    CallStatus.BLOCKED: Badge("Blocked", "blocked", "bad"),
    CallStatus.REJECTED: Badge("Rejected", "blocked", "calm"),
    CallStatus.INTERRUPTED: Badge("Interrupted", "stop", "calm"),
    CallStatus.UNKNOWN: Badge("Outcome unknown", "alert", "bad"),
}
_TASKS = {
    TaskState.INITIALIZING: Badge("Starting", "running", "busy"),
    TaskState.THINKING: Badge("Thinking", "running", "busy"),
    TaskState.EXECUTING_TOOL: Badge("Working", "running", "busy"),
    TaskState.FINALIZING: Badge("Finishing", "running", "busy"),
    TaskState.DONE: Badge("Done", "check", "good"),
    TaskState.FAILED: Badge("Failed", "alert", "bad"),
}
_WAITING = {
    WaitingFor.REPLY: Badge("Asks you", "question", "asks"),
    WaitingFor.APPROVAL: Badge("Needs approval", "shield", "asks"),
}
_STOPPED = Badge("Stopped", "stop", "calm")


def of_task(state: str, waiting_for: str | None, *, stopped: bool) -> Badge:
    if waiting_for:
        return _WAITING[WaitingFor(waiting_for)]
    return _STOPPED if stopped else _TASKS[TaskState(state)]


def is_active(state: str) -> bool:
    return state not in ENDED
