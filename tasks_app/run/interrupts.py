"""Interrupts: exceptions that end an iteration early. They carry the entries to append and the next state.

The loop has one `except` for all of them, so the record has all messages of the engine.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tasks_app.models import FailureCode, TaskState, WaitingFor
from tasks_app.record import Draft, notice


class Interrupt(Exception):
    """An early end of an iteration.

    In one transaction, `entries` are appended, `fields` set on the task, and `extra_write` runs.
    """

    def __init__(self, *entries: Draft, extra_write: Callable[[], object] | None = None, **fields: Any) -> None:
        super().__init__(type(self).__name__)
        self.entries: Sequence[Draft] = entries
        self.extra_write = extra_write
        self.fields: dict[str, Any] = fields


class Continue(Interrupt):
    """The end of an iteration; the next one calls the model again."""

    def __init__(self, *entries: Draft) -> None:
        super().__init__(*entries, state=TaskState.THINKING)


class NoToolCall(Continue):
    """A reply without a tool call: it stays in the record, and a reminder names what was missing."""


class Aborted(Continue):
    """A person interrupted the running LLM call or tool."""


class Refused(Continue):
    """A call that does not run: its result names the reason."""


class ReplyNeeded(Interrupt):
    """A question of the agent: the call stays open until a person answers."""

    def __init__(self) -> None:
        super().__init__(state=TaskState.EXECUTING_TOOL, waiting_for=WaitingFor.REPLY)


class ApprovalNeeded(Interrupt):
    """A call that waits for a person's approval."""

    def __init__(self) -> None:
        super().__init__(state=TaskState.EXECUTING_TOOL, waiting_for=WaitingFor.APPROVAL)


class ChildrenNeeded(Interrupt):
    """A call that waits for the tasks that it has delegated; `extra_write` starts them."""

    def __init__(self, extra_write: Callable[[], object] | None = None) -> None:
        super().__init__(extra_write=extra_write, state=TaskState.EXECUTING_TOOL, waiting_for=WaitingFor.CHILDREN)


class Failed(Interrupt):
    """The end of the task without a result. `detail` is one sentence: what happened, and what to do.

    `llm_call` is the id of the call that failed, for administrators.
    """

    def __init__(self, code: FailureCode, detail: str, *entries: Draft, llm_call: str = "", **fields: Any) -> None:
        entry = notice(detail, code=code.value, **({"llm_call": llm_call} if llm_call else {}))
        super().__init__(*entries, entry, state=TaskState.FAILED, failure_code=code, failure_detail=detail, **fields)


class Stopped(Failed):
    """The end of a task after a person's stop, or after the end of its terminal. `why` is a sentence."""

    def __init__(self, why: str, *entries: Draft) -> None:
        super().__init__(FailureCode.STOPPED, f"{why} Write a message to go on from here.", *entries, stopped=True)


class LimitExceeded(Failed):
    """The end of a task that has reached a limit."""


class LoopDetected(Failed):
    """The end of a task whose agent repeats itself despite warnings."""
