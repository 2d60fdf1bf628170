"""The limits that hold for all tasks."""

from django.db import models
from django.db.models import Q


class Limits(models.Model):
    """One row. Without it, the defaults below hold."""

    max_iterations = models.PositiveIntegerField(default=60)
    tool_loop_threshold = models.PositiveIntegerField(default=5, help_text="So many identical calls may run.")
    tool_loop_window = models.PositiveIntegerField(default=20, help_text="Among so many of the latest calls.")
    tool_loop_refusals = models.PositiveIntegerField(default=3, help_text="The refusal that ends the task.")
    no_tool_call_retries = models.PositiveIntegerField(default=3, help_text="Reminders in a row before the task fails.")

    class Meta:
        db_table = "limits"
        verbose_name_plural = "limits"
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="limits_one_row")]

    def __str__(self) -> str:
        return "Limits"

    @classmethod
    def current(cls) -> "Limits":
        return cls.objects.filter(pk=1).first() or cls(pk=1)
