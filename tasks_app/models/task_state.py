"""The states of a task and their transitions, what a task can wait for, and the codes of failures."""

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


# The transitions of each state. An active state can also be written again.
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
    """A transition that the state machine does not allow: a bug in the engine."""


@cache
def predecessors(state: str) -> tuple[TaskState, ...]:
    """Return the states from which this state can be written. An active state can be written again."""
    return tuple(
        predecessor
        for predecessor in TaskState
        if state in SUCCESSORS[predecessor] or (state == predecessor and predecessor not in ENDED)
    )


def check_successors(successors: Mapping[str, frozenset[TaskState]]) -> None:
    """Check that the table has every state, that ended states lead nowhere, and that each active state can fail.

    Raises ValueError.
    """
    if set(successors) != set(TaskState):
        raise ValueError("the table of transitions must name each state once")
    if any(bool(successors[state]) == (state in ENDED) for state in TaskState):
        raise ValueError("a task may leave every state but its ends")
    if any(TaskState.FAILED not in successors[state] for state in ACTIVE):
        raise ValueError("a task may fail in every active state")


check_successors(SUCCESSORS)


class WaitingFor(models.TextChoices):
    """The event that a task waits for: a person, its delegated tasks or, before its first step, its sibling tasks."""

    REPLY = "reply"
    APPROVAL = "approval"
    CHILDREN = "children"
    SIBLINGS = "siblings"


PERSON_WAITS = (WaitingFor.REPLY, WaitingFor.APPROVAL)


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
    CONTENT_REFUSED = "content_refused"
    TIME_LIMIT = "time_limit"
    INTERNAL = "internal"
