"""A running task: the settings of its step, and what the engine holds of it in memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import proxy

from django.db.models import F, Q, QuerySet, Subquery

from llm_app.abilities import Abilities
from llm_app.call import KnownRoutes
from llm_app.models import Blob
from llm_app.sql.composed_query import Select
from tasks_app.models import (
    Agent,
    AgentVersion,
    CallStatus,
    ContextEntry,
    ContextType,
    Limits,
    Project,
    Session,
    Task,
    ToolCallLog,
    WorkspaceChange,
)
from tasks_app.run.loop_detector import CountedCall, LoopDetector
from tasks_app.run.unit_of_work import UnitOfWork
from tasks_app.run.usage import Calibration
from tasks_app.runtime.cancellation import Interruption
from tasks_app.runtime.live_stream import LiveStream
from tasks_app.workspace import file_history
from tools_app.contract import ToolVisibility
from tools_app.files import Workspace
from tools_app.held_resources import JOB, PAGE
from tools_app.hooks.base import Hook
from tools_app.policy import Policy, VisibleTools
from tools_app.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True, eq=False)
class StepSettings:
    """What administrators and owners have set for a step, read together. `version` is the state that they were in.

    Two of them are equal only if they are the same object: rows would be compared by their keys.
    """

    version: tuple[object, ...] = ()
    limits: Limits
    window: int = 128_000  # tokens that the conversation's model reads
    agent: Agent | None = None
    agent_version: AgentVersion | None = None
    project: Project | None = None
    has_library: bool = False
    own_sections: tuple[tuple[str, str], ...] = ()  # of the prompt, in the agent's words
    hooks: Sequence[Hook] = ()
    policy: Policy = field(default_factory=Policy)
    skills: tuple[tuple[str, str], ...] = ()
    handoffs: tuple[tuple[str, str], ...] = ()  # agents to whom this one may hand on
    agents: tuple[tuple[str, str], ...] = ()
    abilities: Abilities = field(default_factory=Abilities)
    routes: KnownRoutes | None = None  # of the conversation's model; None: they are read for each call

    @property
    def filters_output(self) -> bool:
        """Whether nothing may be streamed, because a hook looks at what is said before anyone sees it."""
        return any(hook.filters_output for hook in self.hooks)

    @property
    def result_tokens(self) -> int:
        """How much of a tool's result is shown: by the limits if they say so, else by the window."""
        return self.limits.result_tokens_in(self.window)

    def loop_detector(self) -> LoopDetector:
        return LoopDetector(
            window=self.limits.tool_loop_window,
            threshold=self.limits.tool_loop_threshold,
            refusals=self.limits.tool_loop_refusals,
        )


def model_name(session: Session, agent: Agent | None) -> str:
    """The logical model that answers in a session; empty for the default one."""
    chosen = session.model or (agent and agent.model)
    return chosen.name if chosen else ""


class TaskContext(UnitOfWork):
    """Lives as long as one worker holds the task."""

    def __init__(self, task: Task, workspace: Workspace, sandbox: Sandbox) -> None:
        super().__init__(task)
        self.calibration = Calibration(task.session.pk)
        self.workspace, self.sandbox = workspace, sandbox
        self.is_shared = task.session.is_open_to_others(task.started_by)
        self.settings = StepSettings(limits=Limits.current())
        self.loaded_groups: frozenset[str] = frozenset()
        self.skill_folders: tuple[object, ...] = ()  # as they were at the beginning of the step
        self.untold_mark = -1  # of the file history, when it was last looked at
        # Weak, so that a task that has ended is gone at once, with its pipes and messages.
        self.interruption = Interruption(partial(type(self).is_interrupted, proxy(self)))
        self.streamed: LiveStream | None = None  # the newest reply's stream, to be withdrawn if its call is refused
        self.detector = self.settings.loop_detector()
        self.detector.load(_calls_since_last_message(task))
        self.heads: dict[object, tuple[object, Any]] = {}  # what precedes the conversation, with what it was made of
        self._blobs: dict[str, str] = {}
        self._visible: tuple[tuple[object, ...], ToolVisibility, VisibleTools] | None = None

    def withdraw_stream(self) -> None:
        """Takes back what a person has seen of a call that will not run."""
        if self.streamed is not None:
            self.streamed.withdraw()

    def blob(self, text: str) -> str:
        """The address of a text that is part of requests; stored when it is new."""
        if text not in self._blobs:
            self._blobs[text] = Blob.keep(text)
        return self._blobs[text]

    @property
    def model(self) -> str:
        return model_name(self.session, self.settings.agent)

    @property
    def visibility(self) -> ToolVisibility:
        """What decides, beside the policy, which tools the model sees in this step: the same object while it is so."""
        return self._looked_up()[1]

    @property
    def visible(self) -> VisibleTools:
        """These tools."""
        return self._looked_up()[2]

    def _looked_up(self) -> tuple[tuple[object, ...], ToolVisibility, VisibleTools]:
        """What both are made of comes first."""
        decides = (
            *(self.settings, self.loaded_groups, tuple(self._affinity.held), self.has_made_all_calls),
            *(self.history.has_cut, self.session.folder, bool(self.task.workflow), self.task.output_schema),
        )
        if self._visible is None or self._visible[0] != decides:
            visibility = self._visibility_now()
            self._visible = decides, visibility, self.settings.policy.visible(visibility)
        return self._visible

    def _visibility_now(self) -> ToolVisibility:
        limits, held = self.settings.limits, self._affinity.held
        return ToolVisibility(
            makes_images=bool(self.settings.abilities.makes_images),
            makes_audio=bool(self.settings.abilities.makes_audio),
            sees_pictures=bool(self.settings.abilities.sees),
            has_open_page=PAGE in held,
            has_jobs=any(name.startswith(JOB) for name in held),
            loaded=self.loaded_groups,
            skills=self.settings.skills,
            handoffs=self.settings.handoffs,
            has_groups=bool(self.settings.policy.on_demand),
            answers_only=self.has_made_all_calls,
            in_workflow=bool(self.task.workflow),
            has_cut=self.history.has_cut,
            may_delegate=bool(limits.children) and self.session.depth < limits.children_depth,
            shows_delegate=bool(self.settings.agent and self.settings.agent.delegates),
            agents=self.settings.agents,
            has_library=self.settings.has_library,
            output_schema=self.task.output_schema,
        )

    @property
    def time_zone(self) -> str:
        """The zone of the person who started the task; UTC where others can read it from the record."""
        return "UTC" if self.is_shared else self.task.started_by.time_zone or "UTC"

    def files_changed_at(self) -> int:
        """Return the newest entry of the record when files of the workspace were last changed, by a look of now."""
        file_history.record_before(self.task, self.workspace)
        return self._newest_change(WorkspaceChange.objects.filter(session=self.session))

    @staticmethod
    def _newest_change(changes: QuerySet[WorkspaceChange]) -> int:
        return changes.values_list("seq", flat=True).first() or 0

    @property
    def agent_version_id(self) -> int | None:
        return self.settings.agent_version.pk if self.settings.agent_version else None

    @property
    def has_made_all_calls(self) -> bool:
        """Whether the task has reached the limit on its tool calls, where there is one."""
        return self.task.calls_made >= (self.settings.limits.tool_call_limit or math.inf)


def _calls_since_last_message(task: Task) -> list[tuple[CountedCall, bool]]:
    rows = _calls_since.rows(task.pk, task.session_id)
    return [
        (CountedCall(call, call_id, looped), status == CallStatus.SUCCEEDED) for call, call_id, looped, status in rows
    ]


_calls_since = Select(
    lambda task, session: (
        ToolCallLog.objects.filter(task=task)
        .annotate(
            said=Subquery(
                ContextEntry.objects.filter(session=session, context_type=ContextType.USER_MESSAGE)
                .order_by("-seq")
                .values("created_at")[:1]
            )
        )
        .filter(Q(said=None) | Q(started_at__gt=F("said")))
        .order_by("pk")
        .values_list("fingerprint", "call_id", "looped", "status")
    )
)
