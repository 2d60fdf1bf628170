"""The limits that hold for all tasks."""

from datetime import timedelta

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

LARGE_WINDOW = 200_000  # tokens
MOST_RESULT, LEAST_RESULT = 8_000, 1_000  # tokens of a tool's result; in a small window it is an eighth


class Limits(models.Model):
    """One row. Without it, the defaults below hold."""

    max_iterations = models.PositiveIntegerField(default=60)
    tool_loop_threshold = models.PositiveIntegerField(default=5, help_text="How many identical calls may run.")
    tool_loop_window = models.PositiveIntegerField(default=20, help_text="How many of the latest calls are compared.")
    tool_loop_refusals = models.PositiveIntegerField(default=3, help_text="At this many refusals the task fails.")
    no_tool_call_retries = models.PositiveIntegerField(default=3, help_text="Reminders in a row before the task fails.")
    result_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="How much of a tool's result the model sees at once. Empty: by its window, a quarter of what the "
        "newest turns may take up; 1,000 at 8,000, 4,800 at 128,000, 8,000 from 200,000 on.",
    )
    compact_at_percent = models.PositiveSmallIntegerField(
        default=80, help_text="How full the window may get before old turns are replaced by an outline."
    )
    tail_percent = models.PositiveSmallIntegerField(
        default=15, help_text="How much of the window the newest turns may then still take up."
    )

    approval_hours = models.PositiveIntegerField(
        default=24, validators=[MinValueValidator(1)], help_text="A call that nobody approves in this time is rejected."
    )

    tool_call_limit = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tool calls of a task; after them, it must answer with what it has. Empty: no limit.",
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

    workspace_bytes = models.PositiveBigIntegerField(
        default=2 * 1000**3, help_text="The most that the files of a session may take up together."
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

    @classmethod
    def current(cls) -> "Limits":
        return cls.objects.filter(pk=1).first() or cls(pk=1)

    def result_tokens_in(self, window: int) -> int:
        """How much of a tool's result a model with this window sees at once; never over an eighth of the window."""
        if self.result_tokens is not None:
            return min(self.result_tokens, window // 8)
        if window >= LARGE_WINDOW:
            return MOST_RESULT
        return max(min(MOST_RESULT, window * self.tail_percent // 400), min(LEAST_RESULT, window // 8))


ALIVE_SECONDS = 20  # how long a process may be silent: four heartbeats


class EngineProcessQuerySet(models.QuerySet["EngineProcess"]):
    def alive(self) -> "EngineProcessQuerySet":
        """By the database's clock."""
        return self.filter(seen_at__gt=_ago(timedelta(seconds=ALIVE_SECONDS)))

    def beat(self, name: str) -> None:
        """The process called `name` is alive. A first beat also forgets processes of other days."""
        if not self.filter(pk=name).update(seen_at=Now()):
            self.filter(seen_at__lt=_ago(timedelta(days=1))).delete()
            self.create(name=name, seen_at=Now())


class EngineProcess(models.Model):
    """`name` is that of its leases: host and lock file."""

    name = models.CharField(max_length=100, primary_key=True)
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()

    objects = EngineProcessQuerySet.as_manager()

    class Meta:
        db_table = "engine_processes"
        ordering = ["-seen_at"]
        verbose_name_plural = "engine processes"

    def __str__(self) -> str:
        return self.name


def _ago(time: timedelta) -> Combinable:
    return models.ExpressionWrapper(Now() - time, output_field=models.DateTimeField())


class IdempotencyKey(models.Model):
    """`status` is null while the first request is still at work."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64, help_text="SHA-256 of method, path and body.")
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]

    def __str__(self) -> str:
        return self.key
