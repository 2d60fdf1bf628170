"""General limits of tasks, and the engine's processes."""

from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models, transaction
from django.db.models import Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

from llm_app.models import LogicalModel
from llm_app.sql import cached_sql, fetch_first
from tools_app.files import HistoryBounds

LARGE_WINDOW = 200_000  # tokens
_CENTURY = timedelta(days=36_500)  # stands for "for ever": longer times overflow the calendar
# tokens of a tool's result: 8 kB at least, with our remarks, but a small window allows an eighth of itself
MAX_RESULT_TOKENS, MIN_RESULT_TOKENS = 12_800, 3_000


_AT_LEAST_ONE = (
    *("max_iterations", "tool_loop_threshold", "tool_loop_window", "tool_loop_refusals", "result_tokens"),
    *("tool_call_limit", "stale_plan_after", "same_tool_after", "budget_reminder_percent"),
)


class Limits(models.Model):
    """The general limits, in one row. Without the row, the defaults apply."""

    max_iterations = models.PositiveIntegerField(default=60)
    tool_loop_threshold = models.PositiveIntegerField(default=5, help_text="How many identical calls may run.")
    tool_loop_window = models.PositiveIntegerField(default=20, help_text="How many of the latest calls are compared.")
    tool_loop_refusals = models.PositiveIntegerField(default=3, help_text="Number of refusals at which the task fails.")
    no_tool_call_retries = models.PositiveIntegerField(default=3, help_text="Reminders in a row before the task fails.")
    result_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="How much of a tool's result the model sees at once. Empty: a tenth of its window; 1,000 at 8,000, "
        "3,200 at 32,000, 12,800 from 128,000 on.",
    )
    compact_at_percent = models.PositiveSmallIntegerField(
        default=80, help_text="How full the window may get before old turns are replaced by an outline."
    )
    tail_percent = models.PositiveSmallIntegerField(
        default=15, help_text="Share of the window that the newest turns may then still take up."
    )

    approval_hours = models.PositiveIntegerField(
        default=24, validators=[MinValueValidator(1)], help_text="A call that nobody approves in this time is rejected."
    )

    tool_call_limit = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tool calls of a task; after them, it must answer with what it has. Empty: no limit.",
    )
    handoff_limit = models.PositiveIntegerField(
        default=8, help_text="How often the agents of a task may hand it on to one another."
    )
    stale_plan_after = models.PositiveIntegerField(
        default=10, help_text="Replies that may leave an open plan unchanged before the agent is reminded of it."
    )
    same_tool_after = models.PositiveIntegerField(
        default=20, help_text="Calls of one tool in a row, with other arguments each, before the agent is told."
    )
    budget_reminder_percent = models.PositiveSmallIntegerField(
        default=80, help_text="How much of a budget may be spent before the agent is told."
    )

    children = models.PositiveIntegerField(
        default=32, help_text="How many tasks, at all levels, a task that a person started may delegate. 0: none."
    )
    children_at_once = models.PositiveIntegerField(
        default=8, validators=[MinValueValidator(1)], help_text="How many tasks of one call run at once."
    )
    children_depth = models.PositiveIntegerField(
        default=2, help_text="Levels of delegation. At 2, a delegated task can delegate, too."
    )
    children_minutes = models.PositiveIntegerField(
        default=60, validators=[MinValueValidator(1)], help_text="How long the tasks of one call may take."
    )

    workspace_bytes = models.PositiveBigIntegerField(
        default=2 * 1000**3, help_text="The most that the files of a session may take up together."
    )

    user_bytes = models.PositiveBigIntegerField(
        default=20 * 1000**3, help_text="The most that the files of all sessions of one person may take up together."
    )
    user_sessions = models.PositiveIntegerField(default=10_000, help_text="How many sessions one person may have.")

    title_model = models.ForeignKey(
        LogicalModel,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The model that gives a session its title after the first task, for one small call. Empty: the "
        "beginning of the first message is the title, at no cost.",
    )

    history_bytes = models.PositiveBigIntegerField(
        default=HistoryBounds.size,
        help_text="Size limit of a session's file history. Half of it is for the current contents of files.",
    )
    history_changes = models.PositiveIntegerField(
        default=HistoryBounds.changes, help_text="How many changes of a session's files can be undone."
    )
    history_days = models.PositiveIntegerField(
        default=HistoryBounds.days, help_text="For how many days changes can be undone."
    )

    class Meta:
        db_table = "limits"
        verbose_name_plural = "limits"
        constraints = [
            models.CheckConstraint(condition=Q(pk=1), name="limits_one_row"),
            models.CheckConstraint(condition=Q(compact_at_percent__range=(10, 90)), name="limits_compact_at_in_range"),
            models.CheckConstraint(condition=Q(tail_percent__range=(1, 40)), name="limits_tail_in_range"),
        ]

    def __str__(self) -> str:
        return "Limits"

    def clean(self) -> None:
        """Reject zero for limits with which no task could do anything."""
        if zero_fields := [name for name in _AT_LEAST_ONE if getattr(self, name) == 0]:
            raise ValidationError(dict.fromkeys(zero_fields, "This must be at least 1."))

    @classmethod
    def current(cls) -> "Limits":
        """Return the stored limits, or the shared defaults: callers read them and never change them."""
        return _stored_limits() or _default_limits()

    @property
    def approval_time(self) -> timedelta:
        return min(timedelta(hours=self.approval_hours), _CENTURY)

    @property
    def history_bounds(self) -> HistoryBounds:
        days = min(self.history_days, _CENTURY.days)
        return HistoryBounds(size=self.history_bytes, changes=self.history_changes, days=days)

    def result_tokens_in(self, window: int) -> int:
        """Return the limit, in tokens, of a tool result in a model's window: at most an eighth of the window."""
        if self.result_tokens is not None:
            return min(self.result_tokens, window // 8)
        return min(MAX_RESULT_TOKENS, max(window // 10, min(MIN_RESULT_TOKENS, window // 8)))


ENDED_PROCESSES = "ended"
ALIVE_SECONDS = 20  # four heartbeats


class Sample(NamedTuple):
    """A Prometheus sample of a process."""

    name: str
    labels: dict[str, str]
    value: float


@cached_sql
def _stored_limits() -> Limits | None:
    return fetch_first(Limits.objects.filter(pk=1))


@cache
def _default_limits() -> Limits:
    return Limits(pk=1)


class EngineProcessQuerySet(models.QuerySet["EngineProcess"]):
    def alive(self) -> "EngineProcessQuerySet":
        """Filter live processes by the database's clock. A row from the future is not alive: the clock was set
        back.
        """
        patience = timedelta(seconds=ALIVE_SECONDS)
        return self.filter(seen_at__gt=_ago(patience), seen_at__lt=_ago(-patience))

    def beat(self, name: str, counted: Sequence[Sample] = ()) -> None:
        """Record a heartbeat. The first one of a process also merges the rows of processes that ended over a day
        ago.
        """
        if not self.filter(pk=name).update(seen_at=Now(), counted=counted):
            self._merge_ended()
            self.create(name=name, seen_at=Now(), counted=counted)

    def _merge_ended(self) -> None:
        """Add up the samples of ended processes in one row, so that the totals never decrease."""
        with transaction.atomic():
            ended = list(self.select_for_update().filter(seen_at__lt=_ago(timedelta(days=1))))
            sums: dict[str, Sample] = {}
            for name, labels, value in (sample for process in ended for sample in process.counted):
                key = f"{name} {sorted(labels.items())}"
                sums[key] = Sample(name, labels, value + (sums[key].value if key in sums else 0))
            self.filter(pk__in=[process.pk for process in ended]).delete()
            if sums:
                self.create(name=ENDED_PROCESSES, seen_at=ended[-1].seen_at, counted=list(sums.values()))


class EngineProcess(models.Model):
    """A running process of the engine. `name` is its host and lock file, and the owner of its leases."""

    name = models.CharField(max_length=100, primary_key=True)
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()
    counted = models.JSONField(
        default=list, editable=False, help_text="Its samples for Prometheus: name, labels, value."
    )

    objects = EngineProcessQuerySet.as_manager()

    class Meta:
        db_table = "engine_processes"
        ordering = ["-seen_at"]
        verbose_name_plural = "engine processes"

    def __str__(self) -> str:
        return self.name


def _ago(time: timedelta) -> Combinable:
    return models.ExpressionWrapper(Now() - time, output_field=models.DateTimeField())
