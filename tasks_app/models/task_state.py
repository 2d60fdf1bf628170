"""The states of a task, which may follow which, what it waits for, and why it failed."""

from collections.abc import Mapping
from functools import cache

from django.db import models


class TaskState(models.TextChoices):
    INITIALIZING = "initializing"
    THINKING = "thinking"
    EXECUTING_TOOL = "executing_tool"
    FINALIZING = "finalizing"
    DONE = "done"
    FAILED = "failed"


# The state machine: what each state may become. An active state may also be written again.
SUCCESSORS: Mapping[str, frozenset[TaskState]] = {
    TaskState.INITIALIZING: frozenset({TaskState.THINKING, TaskState.FAILED}),
    TaskState.THINKING: frozenset({TaskState.EXECUTING_TOOL, TaskState.FAILED}),
    TaskState.EXECUTING_TOOL: frozenset({TaskState.THINKING, TaskState.FINALIZING, TaskState.FAILED}),
    TaskState.FINALIZING: frozenset({TaskState.DONE, TaskState.FAILED}),
    TaskState.DONE: frozenset(),
    TaskState.FAILED: frozenset(),
}
ENDED = (TaskState.DONE, TaskState.FAILED)
ACTIVE = tuple(state for state in TaskState if state not in ENDED)


class IllegalTransition(Exception):
    """A task was about to enter a state that its present one cannot become: a fault of ours."""


@cache
def predecessors(state: str) -> tuple[TaskState, ...]:
    """The states in which a task may be when this one is written; the state itself is one, unless it is an end."""
    return tuple(
        before for before in TaskState if state in SUCCESSORS[before] or (state == before and before not in ENDED)
    )


def check_successors(successors: Mapping[str, frozenset[TaskState]]) -> None:
    """Raises ValueError unless the table names every state, ends lead nowhere, and every other state leads to one."""
    if set(successors) != set(TaskState):
        raise ValueError("the table of transitions must name each state once")
    if any(bool(successors[state]) == (state in ENDED) for state in TaskState):
        raise ValueError("a task may leave every state but its ends")
    if any(TaskState.FAILED not in successors[state] for state in ACTIVE):
        raise ValueError("a task may fail in every active state")


check_successors(SUCCESSORS)


class WaitingFor(models.TextChoices):
    """What a task waits for: a person, the tasks that it delegated, or, before its first step, those beside it."""

    REPLY = "reply"
    APPROVAL = "approval"
    CHILDREN = "children"
    SIBLINGS = "siblings"


PERSON = (WaitingFor.REPLY, WaitingFor.APPROVAL)


class FailureCode(models.TextChoices):
    STOPPED = "stopped"
    MAX_ITERATIONS = "max_iterations"
    NO_TOOL_CALL = "no_tool_call"
    STRUCTURAL_ERROR = "structural_error"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    AUTHENTICATION = "authentication"
    BUDGET_EXCEEDED = "budget_exceeded"
    TOOL_LOOP = "tool_loop"
    TOOL_CRASHED = "tool_crashed"
    CONTEXT_OVERFLOW = "context_overflow"
    TIME_LIMIT = "time_limit"
    INTERNAL = "internal"
