"""The log of tool calls: the intent before a tool runs, what came of it after."""

from typing import Any

import orjson
from django.db import models
from django.db.models import Q

from tasks_app.models.session import Session
from tasks_app.models.task import Task


class CallStatus(models.TextChoices):
    """`started` is the intent: a crash that leaves it behind makes the outcome unknown."""

    PENDING = "pending"
    STARTED = "started"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


REFUSED = (CallStatus.FAILED, CallStatus.BLOCKED, CallStatus.REJECTED)  # what such a message says, nobody was told


class ToolCallLog(models.Model):
    """One call, with its coerced arguments as JSON text; by its `fingerprint`, it is or is not a repetition."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="tool_calls", db_index=False)  # indexed below
    session_id = models.UUIDField()
    call_id = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    arguments = models.TextField(blank=True)
    fingerprint = models.CharField(max_length=64)
    danger = models.CharField(max_length=10, blank=True)
    status = models.CharField(max_length=11, choices=CallStatus)
    looped = models.BooleanField(default=False, help_text="Refused because it was repeated too often.")
    started_at = models.DateTimeField(auto_now_add=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    checks = models.TextField(
        blank=True, help_text="JSON: what each check and hook said of it, and how long each took: {by, said, ms}."
    )

    class Meta:
        db_table = "tool_call_logs"
        ordering = ["-started_at"]
        verbose_name = "tool call"
        indexes = [models.Index(fields=["task", "started_at"])]
        constraints = [
            models.UniqueConstraint(fields=["session_id", "call_id"], name="tool_call_id_once_per_session"),
            models.CheckConstraint(condition=Q(status__in=CallStatus.values), name="tool_call_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.status})"

    def note(self, by: str, said: str, seconds: float) -> None:
        """What a check or a hook said of the call, kept with the next save. `said` has no secret."""
        self.checks = orjson.dumps([*self.noted, {"by": by, "said": said, "ms": round(seconds * 1000, 2)}]).decode()

    @property
    def noted(self) -> list[dict[str, Any]]:
        """{by, said, ms} of each check and hook, in their order."""
        found: list[dict[str, Any]] = orjson.loads(self.checks) if self.checks else []
        return found


class LoadedKind(models.TextChoices):
    GROUP = "group", "Group of tools"
    SKILL = "skill", "Skill"


class Loaded(models.Model):
    session = models.ForeignKey(Session, models.CASCADE, related_name="loaded")
    kind = models.CharField(max_length=5, choices=LoadedKind)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "loaded"
        verbose_name_plural = "loaded tools and skills"
        constraints = [
            models.UniqueConstraint(fields=["session", "kind", "name"], name="loaded_once"),
            models.CheckConstraint(condition=Q(kind__in=LoadedKind.values), name="loaded_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
