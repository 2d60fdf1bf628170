"""A running task's context: the settings of its iteration, and its state in memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import proxy

from django.db.models import F, Q, QuerySet, Subquery

from llm_app.abilities import ModelsByAbility
from llm_app.call import CachedRoutes
from llm_app.models import Blob
from llm_app.sql import cached_sql, fetch_all
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
from tasks_app.run.usage import Calibration, WindowFilling
from tasks_app.runtime.cancellation import Interruption
from tasks_app.runtime.live_stream import LiveStream
from tasks_app.workspace import file_history
from tools_app.contract import ToolVisibility
from tools_app.files import Workspace
from tools_app.hooks import Hook
from tools_app.policy import Policy, VisibleTools
from tools_app.sandbox import Local, Sandbox

LEAST_WINDOW = 32_000  # tokens, to delegate without an agent that says so


@dataclass(frozen=True, kw_only=True, eq=False)
class StepSettings:
    """The settings of an iteration by administrators and owners, read together. `version` identifies their state.

    Compared by identity, as rows would be compared by their keys alone.
    """

    version: tuple[object, ...] = ()
    limits: Limits
    window: int = 128_000  # context window of the conversation's model, in tokens
    agent: Agent | None = None
    agent_version: AgentVersion | None = None
    project: Project | None = None
    has_library: bool = False
    own_sections: tuple[tuple[str, str], ...] = ()  # prompt sections that are set for the agent
    hooks: Sequence[Hook] = ()
    policy: Policy = field(default_factory=Policy)
    skills: tuple[tuple[str, str], ...] = ()
    handoffs: tuple[tuple[str, str], ...] = ()  # agents to which this one can hand on
    agents: tuple[tuple[str, str], ...] = ()
    abilities: ModelsByAbility = field(default_factory=ModelsByAbility)
    routes: CachedRoutes | None = None  # of the conversation's model; None: read for each call

    @property
    def filters_output(self) -> bool:
        """Return whether a hook must see all output first, so that nothing is streamed."""
        return any(hook.filters_output for hook in self.hooks)

    @property
    def result_tokens(self) -> int:
        """Return how much of a tool's result can be shown: by the limits if they set it, else by the window."""
        return self.limits.result_tokens_in(self.window)

    def loop_detector(self) -> LoopDetector:
        return LoopDetector(
            window=self.limits.tool_loop_window,
            threshold=self.limits.tool_loop_threshold,
            refusals=self.limits.tool_loop_refusals,
        )


def model_name(session: Session, agent: Agent | None) -> str:
    """Return the logical model that answers in a session, or '' for the default one."""
    model = session.model or (agent and agent.model)
    return model.name if model else ""


class TaskContext(UnitOfWork):
    """A claimed task with everything that its loop needs, as long as one worker holds it."""

    def __init__(self, task: Task, workspace: Workspace, sandbox: Sandbox) -> None:
        super().__init__(task)
        self.calibration = Calibration(task.session.pk)
        self.window_filling: WindowFilling | None = None  # since the newest request of this context
        self.workspace, self.sandbox = workspace, sandbox
        workspace.is_isolated = sandbox.name != Local.name
        self.is_shared = task.session.is_open_to_others(task.started_by)
        self.settings = StepSettings(limits=Limits.current())
        self.loaded_groups: frozenset[str] = frozenset()
        self.skill_folders: tuple[object, ...] = ()  # their state at the beginning of the iteration
        self.untold_mark = -1  # mark of the file history when it was last read
        # Weak, so that an ended task is freed immediately, with its pipes and messages.
        self.interruption = Interruption(partial(type(self).is_interrupted, proxy(self)))
        self.live_stream: LiveStream | None = None  # of the newest reply or tool output
        self.detector = self.settings.loop_detector()
        self.detector.load(_calls_since_last_message(task))
        # Cached prompt heads, with the inputs that they were built from.
        self.head_cache: dict[object, tuple[object, Any]] = {}
        self._blobs: dict[str, str] = {}
        self._visibility_cache: tuple[tuple[object, ...], ToolVisibility, VisibleTools] | None = None

    def withdraw_stream(self) -> None:
        """Remove the stream of a call that will not run from people's pages."""
        if self.live_stream is not None:
            self.live_stream.withdraw()

    def blob(self, text: str) -> str:
        """Return the address of a text that is part of requests, and store it if it is new."""
        if text not in self._blobs:
            self._blobs[text] = Blob.store(text)
        return self._blobs[text]

    @property
    def result_tokens(self) -> int:
        """Return how much of the next result is shown: less if the window is nearly full."""
        most = self.settings.result_tokens
        return self.window_filling.page(most) if self.window_filling else most

    @property
    def max_iterations(self) -> int:
        """Return the task's limit, or else the agent's or the general one."""
        of_agent = self.settings.agent and self.settings.agent.max_iterations
        return self.task.max_iterations or of_agent or self.settings.limits.max_iterations

    @property
    def model(self) -> str:
        return model_name(self.session, self.settings.agent)

    @property
    def visibility(self) -> ToolVisibility:
        """Return what decides, with the policy, which tools the model sees.

        It is the same object while nothing changes.
        """
        return self._look_up_visibility()[1]

    @property
    def visible(self) -> VisibleTools:
        """Return the tools that the model sees in this iteration."""
        return self._look_up_visibility()[2]

    def _look_up_visibility(self) -> tuple[tuple[object, ...], ToolVisibility, VisibleTools]:
        """Return both, after the inputs that they were built from."""
        inputs = (
            *(self.settings, self.loaded_groups, self.has_made_all_calls, self.session.folder),
            *(bool(self.task.workflow), self.task.output_schema),
        )
        if self._visibility_cache is None or self._visibility_cache[0] != inputs:
            visibility = self._build_visibility()
            self._visibility_cache = inputs, visibility, self.settings.policy.visible(visibility)
        return self._visibility_cache

    def _build_visibility(self) -> ToolVisibility:
        limits = self.settings.limits
        return ToolVisibility(
            makes_images=bool(self.settings.abilities.makes_images),
            makes_audio=bool(self.settings.abilities.makes_audio),
            sees_pictures=bool(self.settings.abilities.sees),
            model_sees=self.settings.abilities.preferred_sees,
            loaded=self.loaded_groups,
            skills=self.settings.skills,
            handoffs=self.settings.handoffs,
            has_groups=bool(self.settings.policy.tools_by_group),
            answers_only=self.has_made_all_calls,
            in_workflow=bool(self.task.workflow),
            may_delegate=bool(limits.children) and self.session.depth < limits.children_depth,
            shows_delegate=self._shows_delegate(),
            agents=self.settings.agents,
            has_library=self.settings.has_library,
            output_schema=self.task.output_schema,
            asks_for_commands=self.settings.policy.can_ask("shell"),
        )

    def _shows_delegate(self) -> bool:
        """Return whether models see `delegate`: by the agent's switch.

        Without an agent, they do in tasks of people whose model calls natively and has the window for many results.
        """
        settings = self.settings
        if settings.agent:
            return settings.agent.delegates
        is_able = settings.routes is not None and settings.routes.calls_natively and settings.window >= LEAST_WINDOW
        return is_able and not self.session.depth

    @property
    def time_zone(self) -> str:
        """Return the time zone of the person who started the task, or UTC if others can read it from the record."""
        return "UTC" if self.is_shared else self.task.started_by.time_zone or "UTC"

    def files_changed_at(self) -> int:
        """Check the workspace, and return the newest entry of the record at its last change."""
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
        """Return whether the task has reached its limit on tool calls, if there is one."""
        return self.task.calls_made >= (self.settings.limits.tool_call_limit or math.inf)


def _calls_since_last_message(task: Task) -> list[tuple[CountedCall, bool]]:
    rows = _calls_since(task.pk, task.session_id)
    return [
        (CountedCall(call, call_id, looped), status == CallStatus.SUCCEEDED) for call, call_id, looped, status in rows
    ]


@cached_sql
def _calls_since(task: Any, session: Any) -> list[tuple[str, str, bool, str]]:
    messages = ContextEntry.objects.filter(session=session, context_type=ContextType.USER_MESSAGE).order_by("-seq")
    calls = ToolCallLog.objects.filter(task=task).annotate(last_message_at=Subquery(messages.values("created_at")[:1]))
    since = calls.filter(Q(last_message_at=None) | Q(started_at__gt=F("last_message_at"))).order_by("pk")
    return fetch_all(since.values_list("fingerprint", "call_id", "looped", "status"))
