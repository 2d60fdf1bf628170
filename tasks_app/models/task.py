"""Tasks: the work on one message, in six states, advanced by one worker at a time."""

import uuid
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, Exists, OuterRef, Q, Value
from django.db.models.functions import Now

from llm_app.sql import cached_sql, fetch_all, fetch_first, update_all
from tasks_app.models.agent_version import AgentVersion
from tasks_app.models.session import Session
from tasks_app.models.task_state import (
    ACTIVE,
    ENDED,
    PERSON_WAITS,
    FailureCode,
    IllegalTransition,
    TaskState,
    WaitingFor,
    predecessors,
)


class TaskQuerySet(models.QuerySet["Task"]):
    def visible_to(self, user: Any) -> "TaskQuerySet":
        return self.filter(session__in=Session.objects.visible_to(user))

    def active(self) -> "TaskQuerySet":
        """Filter tasks that have not ended. A constraint keeps `state` and `ended_at` consistent."""
        return self.filter(ended_at=None)

    @cached_sql
    def active_in(self, session: Any) -> "Task | None":
        return fetch_first(self.active().filter(session=session))

    def runnable(self) -> "TaskQuerySet":
        """Filter tasks that a worker could advance now: active, and waiting for nothing."""
        return self.active().filter(waiting_for=None)

    def queued(self) -> "TaskQuerySet":
        """Filter runnable tasks that wait for admission. Terminal tasks and tasks to be stopped never wait."""
        return self.filter(ended_at=None, waiting_for=None, admitted_at=None, terminal="", stop_requested_at=None)

    def unqueued(self) -> "TaskQuerySet":
        """Exclude tasks that wait for admission, from runnable tasks."""
        return self.exclude(admitted_at=None, terminal="", stop_requested_at=None)

    def running(self) -> "TaskQuerySet":
        """Filter admitted tasks. They count until they wait for a person or end."""
        return self.filter(ended_at=None, admitted_at__isnull=False)

    def open_to(self, process: str) -> "TaskQuerySet":
        """Filter tasks that an engine process may advance. A terminal's task is its own, unless it is to be
        stopped.
        """
        return self.filter(Q(terminal__in=["", process]) | Q(stop_requested_at__isnull=False))

    def without_copies(self) -> "TaskQuerySet":
        """Exclude tasks that a fork copied or an import created: they ended without a worker."""
        return self.exclude(epoch=0, ended_at__isnull=False)

    def unclaimed(self) -> "TaskQuerySet":
        """Filter tasks that no worker holds, by the database's clock."""
        return self.filter(Q(lease_owner="") | Q(lease_expires_at__lt=Now()))

    @cached_sql
    def find_visible(self, user: Any, pk: Any) -> "Task | None":
        """Return the task with its session and agent version, or None if the user cannot see it."""
        session = Session.objects.visible_to(user).filter(pk=OuterRef("session"))  # checks this session only
        tasks = self.filter(Exists(session), pk=pk)
        return fetch_first(tasks.select_related("session", "agent_version").order_by())

    @cached_sql
    def find_runnable(self, pk: Any, process: str) -> "Task | None":
        """Return the task if it is runnable by this engine process."""
        return fetch_first(self.runnable().open_to(process).filter(pk=pk).order_by())

    @cached_sql
    def find_claimed(self, pk: Any) -> "Task | None":
        """Return the task with its session, model and user."""
        return fetch_first(self.filter(pk=pk).select_related("session__model", "started_by").order_by())

    @cached_sql
    def runnable_key(self, pk: Any) -> uuid.UUID | None:
        """Return the key if the task is still runnable."""
        return fetch_first(self.runnable().filter(pk=pk).order_by().values_list("pk", flat=True))

    @cached_sql
    def shown_tools_before(self, session: Any, task: Any) -> list[str] | None:
        """Return the names of the tools in the last request of the session's newest other task."""
        others = self.filter(session=session).exclude(pk=task).order_by("-created_at")
        return fetch_first(others.values_list("shown_tools", flat=True))

    @cached_sql
    def admit(self, tasks: Collection[Any]) -> int:
        return update_all(self.filter(pk__in=tasks), admitted_at=Now(), woken_at=Now())

    @cached_sql
    def children_of(self, tasks: Collection[Any]) -> list[tuple[uuid.UUID, uuid.UUID]]:
        """Return pairs of a task and a task that it delegated, in the order of its calls."""
        children = self.filter(parent_call__task__id__in=tasks).order_by("parent_call", "number")
        return fetch_all(children.values_list("parent_call__task", "pk"))

    @cached_sql
    def count_running(self) -> list[tuple[int, int]]:
        """Return pairs of a person and the number of their running tasks."""
        return fetch_all(self.running().order_by().values_list("started_by").annotate(count=Count("pk")))

    @cached_sql
    def count_queued(self, person: Any) -> tuple[int, int] | None:
        """Return how many tasks are queued, and how many of these are the person's. None: no tasks."""
        queued = self.queued().order_by().values_list(Value(1))
        counts = queued.annotate(all=Count("pk"), own=Count("pk", filter=Q(started_by=person)))
        return fetch_first(counts.values_list("all", "own"))

    @cached_sql
    def any_queued(self) -> uuid.UUID | None:
        """Return the key of a queued task, if there is one."""
        return fetch_first(self.queued().order_by().values_list("pk", flat=True))


class Task(models.Model):
    """A task. `epoch` counts its claims; a write with an older epoch is refused."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey(
        Session, models.CASCADE, related_name="tasks", db_index=False
    )  # a composite index begins with it
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    other_authors = models.JSONField(
        default=list, blank=True, help_text="Ids of the other people whose messages it contains."
    )
    parent_call: "models.ForeignKey[Any, Any]" = models.ForeignKey(
        "tasks_app.ToolCallLog",
        models.CASCADE,
        null=True,
        blank=True,
        editable=False,
        related_name="children",
        help_text="The call that delegated it.",
    )
    number = models.PositiveIntegerField(
        null=True, blank=True, editable=False, help_text="Number of its folder among those of its parent's children."
    )
    token_share = models.PositiveBigIntegerField(
        null=True, blank=True, editable=False, help_text="Tokens of its parent's budget that it may use."
    )
    usd_share = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True, editable=False)
    deadline = models.DateTimeField(null=True, blank=True, editable=False, help_text="It starts no step after this.")
    state = models.CharField(max_length=14, choices=TaskState, default=TaskState.INITIALIZING)
    waiting_for = models.CharField(max_length=8, choices=WaitingFor, null=True, blank=True, default=None)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    stopped = models.BooleanField(default=False, help_text="Stopped by a person or, if it is done, cut off by a fork.")
    failure_code = models.CharField(max_length=20, choices=FailureCode, blank=True)
    failure_detail = models.TextField(blank=True)

    agent_version = models.ForeignKey(
        AgentVersion,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="tasks",
        help_text="The version of the agent that it began with; each LLM call has its own.",
    )
    iteration = models.PositiveIntegerField(default=0)
    max_iterations = models.PositiveIntegerField(null=True, blank=True, help_text="Overrides the general limit.")
    calls_made = models.PositiveIntegerField(default=0, help_text="Tool calls, not counting those of `message`.")
    handoffs = models.PositiveIntegerField(default=0, help_text="Calls of `handoff`, including refused ones.")
    shown_tools = models.JSONField(default=list, blank=True, help_text="Names of the tools in its last request.")
    reminded = models.JSONField(
        default=dict, blank=True, help_text="For each kind of reminder, the iteration of the last one."
    )
    workflow = models.JSONField(
        default=dict, blank=True, help_text="Its name and steps, as they were when the task started."
    )
    plan = models.JSONField(default=list, blank=True)
    output_schema = models.TextField(blank=True, help_text="JSON Schema that the result's data must match.")
    misfits = models.PositiveSmallIntegerField(default=0, help_text="Results whose data did not match the schema.")
    final_result = models.JSONField(null=True, blank=True)
    input_tokens = models.PositiveBigIntegerField(default=0)
    cached_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)
    thinking_tokens = models.PositiveBigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)

    silence = models.JSONField(
        null=True, blank=True, editable=False, help_text="The silent provider: its name, since when, until when."
    )
    epoch = models.PositiveIntegerField(default=0)
    lease_owner = models.CharField(max_length=100, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    terminal = models.CharField(
        max_length=100, blank=True, help_text="The only `run_agent` process that may advance it."
    )
    admitted_at = models.DateTimeField(
        null=True, blank=True, help_text="When there was room for it. Empty while it is queued or waits for a person."
    )
    crashes = models.PositiveSmallIntegerField(default=0, help_text="Claims in a row whose worker died.")
    told: "models.CharField[str, str]" = models.CharField(
        max_length=20, blank=True, editable=False, help_text="The reason of the last mail to its person."
    )
    woken_at = models.DateTimeField(null=True, blank=True, help_text="When the reaper last enqueued it.")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = TaskQuerySet.as_manager()

    class Meta:
        db_table = "tasks"
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["session", "-created_at"]),
            models.Index(fields=["-created_at"], name="newest_tasks"),
            models.Index(fields=["session"], condition=Q(waiting_for__isnull=False), name="waiting_tasks"),
            # Conditions without parameters: with them, SQLite would not use the index for a parametrized query.
            # Conditions without the state: each commit writes it, and would update all indexes whose condition has it.
            models.Index(fields=["lease_expires_at"], condition=Q(ended_at=None), name="active_task_leases"),
            models.Index(
                fields=["started_by", "created_at"],
                condition=Q(ended_at=None, waiting_for=None, admitted_at=None),
                name="queued_tasks",
            ),
            models.Index(
                fields=["started_by"], condition=Q(ended_at=None, admitted_at__isnull=False), name="running_tasks"
            ),
            models.Index(
                fields=["started_by", "-admitted_at"], condition=Q(admitted_at__isnull=False), name="newest_admissions"
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session"], condition=Q(ended_at=None), name="one_active_task_per_session"),
            models.CheckConstraint(condition=Q(state__in=TaskState.values), name="task_state_known"),
            models.CheckConstraint(
                condition=Q(waiting_for=None)
                | Q(waiting_for=WaitingFor.SIBLINGS, state=TaskState.INITIALIZING)
                | Q(waiting_for__in=[*PERSON_WAITS, WaitingFor.CHILDREN], state=TaskState.EXECUTING_TOOL),
                name="task_waits_in_its_state",
            ),
            models.CheckConstraint(
                condition=Q(state=TaskState.FAILED, failure_code__in=FailureCode.values)
                | (~Q(state=TaskState.FAILED) & Q(failure_code="")),
                name="task_failed_has_a_code",
            ),
            models.CheckConstraint(
                condition=Q(state__in=ENDED, ended_at__isnull=False) | Q(state__in=ACTIVE, ended_at=None),
                name="task_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=Q(stopped=False) | Q(failure_code=FailureCode.STOPPED) | Q(state=TaskState.DONE),
                name="task_stopped_by_person_or_fork",
            ),
            models.CheckConstraint(
                condition=~Q(state=TaskState.DONE) | Q(final_result__isnull=False), name="task_done_has_a_result"
            ),
        ]

    def __str__(self) -> str:
        return f"Task of {self.session}, {self.get_state_display().lower()}"

    @property
    def is_queued(self) -> bool:
        """Return whether the task waits for admission, as in `TaskQuerySet.queued`."""
        return not (self.ended_at or self.waiting_for or self.admitted_at or self.terminal or self.stop_requested_at)

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def silent_provider(self) -> dict[str, str] | None:
        """The provider that currently sends nothing, `since` when, and when the request is given up
        (`gives_up_at`).
        """
        silence = self.silence
        if (
            not silence
            or silence["epoch"] != self.epoch
            or self.state not in (TaskState.INITIALIZING, TaskState.THINKING)
        ):
            return None
        return {name: silence[name] for name in ("provider", "since", "gives_up_at")}

    @property
    def is_cut_off(self) -> bool:
        """Return whether this is the copied beginning of a task, in a fork: it neither failed nor has a result."""
        return self.stopped and self.state == TaskState.DONE

    def check_transition(self, state: str) -> None:
        """Check that the task can enter this state now. Raises IllegalTransition."""
        if self.state not in predecessors(state):
            raise IllegalTransition(f"task {self.pk} is {self.state} and cannot become {state}")

    def add_author(self, author: Any) -> None:
        """Record a person whose message entered the task. The caller's transaction holds the session's lock."""
        if author.pk not in (self.started_by_id, *self.other_authors):
            self.other_authors = [*self.other_authors, author.pk]
            self.save(update_fields=["other_authors"])

    @property
    def usage(self) -> dict[str, int]:
        names = ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens")
        return {name: getattr(self, name) for name in names}
