"""What a tool may ask the engine to store. The engine applies effects in the transaction of the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

StepStatus = Literal["pending", "in_progress", "done"]


class Effect:
    """The base of all effects. Each needs a handler in the engine, which refuses to start without it."""


@dataclass(frozen=True, kw_only=True)
class Finish(Effect):
    """The task is done; this is its result."""

    text: str
    attachments: Sequence[str] = ()
    suggestions: Sequence[str] = ()
    data: Any = None


@dataclass(frozen=True, kw_only=True)
class MisfitData(Effect):
    """The data of a result does not fit its schema. The engine counts how often."""


@dataclass(frozen=True, kw_only=True)
class WaitForReply(Effect):
    """A person's answer will be the result of this call."""

    options: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    title: str
    status: StepStatus


@dataclass(frozen=True, kw_only=True)
class SetPlan(Effect):
    """The whole plan, in place of the earlier one."""

    steps: Sequence[PlanStep]


@dataclass(frozen=True, kw_only=True)
class EndStep(Effect):
    """The current step of the workflow is done."""


@dataclass(frozen=True, kw_only=True)
class HandOn(Effect):
    """Another agent acts from the next step on; `sender` is who acted until now."""

    sender: str
    agent: str
    note: str


@dataclass(frozen=True, kw_only=True)
class HandoffRefused(Effect):
    """The task was handed on as often as it may be. The engine counts what is refused."""


@dataclass(frozen=True, kw_only=True)
class KeepSearch(Effect):
    """What a search has found is kept for some minutes, for the same search of the same person."""

    key: str
    content: str


@dataclass(frozen=True, kw_only=True)
class JobStarted(Effect):
    """A background command got this number, which the session uses for no other."""

    number: int


@dataclass(frozen=True, kw_only=True)
class LoadGroup(Effect):
    """The tools of a group are available from now on, in this session."""

    group: str


@dataclass(frozen=True, kw_only=True)
class UnloadGroup(Effect):
    """The tools of a group are no longer available, until it is loaded again."""

    group: str


@dataclass(frozen=True, kw_only=True)
class LoadSkill(Effect):
    """The session remembers that it has loaded a skill."""

    name: str


@dataclass(frozen=True, kw_only=True)
class KeepNote(Effect):
    """Something is remembered, for the task's person."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ForgetNote(Effect):
    """A note of the task's person is deleted."""

    number: int


@dataclass(frozen=True, kw_only=True)
class DelegatedTask:
    """One of `Delegate`. `agent` is a name; without one it is the caller's. `tools` are the only ones, if it is given.

    `output_schema` is the JSON Schema, as text, that the data of its result must fit.
    """

    instruction: str
    agent: str = ""
    tools: Sequence[str] | None = None
    output_schema: str = ""


@dataclass(frozen=True, kw_only=True)
class Delegate(Effect):
    """Others work on these tasks, at most `max_parallel` at once. What comes of them will be the call's result."""

    tasks: Sequence[DelegatedTask]
    max_parallel: int | None = None
