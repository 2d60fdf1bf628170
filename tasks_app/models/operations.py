"""The limits that hold for all tasks."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q


class Limits(models.Model):
    """One row. Without it, the defaults below hold."""

    max_iterations = models.PositiveIntegerField(default=60)
    tool_loop_threshold = models.PositiveIntegerField(default=5, help_text="So many identical calls may run.")
    tool_loop_window = models.PositiveIntegerField(default=20, help_text="Among so many of the latest calls.")
    tool_loop_refusals = models.PositiveIntegerField(default=3, help_text="The refusal that ends the task.")
    no_tool_call_retries = models.PositiveIntegerField(default=3, help_text="Reminders in a row before the task fails.")
    result_tokens = models.PositiveIntegerField(
        default=2_500, help_text="Of a tool's result; the whole of a longer one goes into a file."
    )
    compact_at_percent = models.PositiveSmallIntegerField(
        default=80, help_text="How full the window may be before old turns become lines."
    )
    tail_percent = models.PositiveSmallIntegerField(
        default=15, help_text="How much of the window the newest turns may keep then."
    )

    approval_hours = models.PositiveIntegerField(
        default=24, validators=[MinValueValidator(1)], help_text="An approval that nobody gave in this time is a no."
    )

    tool_call_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Tool calls of a task; then it answers from what it knows. Empty: no limit."
    )
    stale_plan_after = models.PositiveIntegerField(
        default=10, help_text="Replies without a change of an open plan before the agent is reminded of it."
    )
    budget_reminder_percent = models.PositiveSmallIntegerField(
        default=80, help_text="How much of a budget may be spent before the agent is told."
    )

    workspace_bytes = models.PositiveBigIntegerField(
        default=2 * 1000**3, help_text="What the files of a session may hold together."
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
