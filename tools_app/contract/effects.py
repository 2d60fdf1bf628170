"""Effects: changes that a tool asks the engine to store. The engine applies them in the transaction of the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

StepStatus = Literal["pending", "in_progress", "done"]


class Effect:
    """The base of all effects. The engine does not start unless each effect has a handler."""


@dataclass(frozen=True, kw_only=True)
class Finish(Effect):
    """The end of the task, with its result."""

    text: str
    attachments: Sequence[str] = ()
    suggestions: Sequence[str] = ()
    data: Any = None


@dataclass(frozen=True, kw_only=True)
class InvalidData(Effect):
    """A result whose data does not fit its schema. The engine counts these."""


@dataclass(frozen=True, kw_only=True)
class WaitForReply(Effect):
    """A wait for a person, whose answer becomes the result of the call."""

    options: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    title: str
    status: StepStatus


@dataclass(frozen=True, kw_only=True)
class SetPlan(Effect):
    """The complete new plan, which replaces the earlier one."""

    steps: Sequence[PlanStep]


@dataclass(frozen=True, kw_only=True)
class EndStep(Effect):
    """The end of the workflow's current step."""


@dataclass(frozen=True, kw_only=True)
class HandOn(Effect):
    """A handoff: `agent` replaces `sender` from the next step on."""

    sender: str
    agent: str
    note: str


@dataclass(frozen=True, kw_only=True)
class HandoffRefused(Effect):
    """A handoff that was refused, since the task has none left. The engine counts these."""


@dataclass(frozen=True, kw_only=True)
class CacheSearch(Effect):
    """The result of a search, cached for some minutes for the same search by the same person."""

    key: str
    content: str


@dataclass(frozen=True, kw_only=True)
class JobStarted(Effect):
    """The number of a new background command. The session never uses it again."""

    number: int


@dataclass(frozen=True, kw_only=True)
class LoadGroup(Effect):
    """A group of tools that becomes available in this session, or only these `tools` of it.

    The result of the call has told the model the `announced` names.
    """

    group: str
    tools: Sequence[str] = ()
    announced: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class UnloadGroup(Effect):
    """A group of tools that is no longer available, until it is loaded again.

    `tools` are all tools of the group. Those in `kept` stay available.
    """

    group: str
    tools: Sequence[str] = ()
    kept: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class LoadSkill(Effect):
    """A skill that the session has loaded."""

    name: str


@dataclass(frozen=True, kw_only=True)
class SaveNote(Effect):
    """A new note of the task's person."""

    text: str


@dataclass(frozen=True, kw_only=True)
class DeleteNote(Effect):
    """The number of a note of the task's person, which is deleted."""

    number: int


@dataclass(frozen=True, kw_only=True)
class DelegatedTask:
    """One task of `Delegate`. The default `agent` is the caller's; `tools`, if given, are the only ones that it can
    use.

    `output_schema` is the JSON Schema, as text, for the data of its result.
    """

    instruction: str
    agent: str = ""
    tools: Sequence[str] | None = None
    output_schema: str = ""


@dataclass(frozen=True, kw_only=True)
class Delegate(Effect):
    """Tasks for other agents, at most `max_parallel` at a time. Their results become the result of the call."""

    tasks: Sequence[DelegatedTask]
    max_parallel: int | None = None
