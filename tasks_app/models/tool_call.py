"""The log of tool calls (the intent before a call, the outcome after it), and approvals of exact calls."""

import json
from typing import Any

import orjson
from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tasks_app.models.entry import ContextEntry
from tasks_app.models.session import Session
from tasks_app.models.task import Task
from tasks_app.models.task_state import WaitingFor
from tools_app.models import ToolSetting


class CallStatus(models.TextChoices):
    """The status of a call. `started` is the intent: if a crash leaves it, the outcome is unknown."""

    PENDING = "pending"
    STARTED = "started"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    BLOCKED = "blocked"
    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


REFUSED = (CallStatus.FAILED, CallStatus.BLOCKED, CallStatus.REJECTED)  # a refused message was not sent


class ToolCallLog(models.Model):
    """One call, with its coerced arguments as JSON text. Calls with equal `fingerprint` are repetitions."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="tool_calls", db_index=False)  # see Meta.indexes
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
        blank=True, help_text="JSON list of {by, said, ms}: the remarks of checks and hooks, and their durations."
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

    def add_remark(self, by: str, remark: str, seconds: float) -> None:
        """Add a remark of a check or hook, to be stored with the next save. `remark` must be redacted."""
        self.checks = orjson.dumps([*self.remarks, {"by": by, "said": remark, "ms": round(seconds * 1000, 2)}]).decode()

    @property
    def remarks(self) -> list[dict[str, Any]]:
        """The remarks {by, said, ms} of checks and hooks, in order."""
        remarks: list[dict[str, Any]] = orjson.loads(self.checks) if self.checks else []
        return remarks


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


class Decision(models.TextChoices):
    PENDING = "pending", _("Pending")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")


class ApprovalScope(models.TextChoices):
    ONCE = "once", "This call"
    TASK = "task", "Similar calls in this task"


class ApprovalQuerySet(models.QuerySet["Approval"]):
    def waiting(self) -> "ApprovalQuerySet":
        """Filter approvals that can still be decided. An expired one counts as rejected."""
        pending = self.filter(decision=Decision.PENDING, tool_call__task__waiting_for=WaitingFor.APPROVAL)
        return pending.filter(Q(expires_at=None) | Q(expires_at__gt=Now()))

    def expired(self) -> "ApprovalQuerySet":
        return self.filter(decision=Decision.PENDING, expires_at__lte=Now())

    def decidable_by(self, user: Any) -> "ApprovalQuerySet":
        """Filter approvals that this person may decide, by the current settings of the tools.

        The setting of a tool may name an approver role. Without one, everyone with write access to the session can
        decide. With four eyes, people who have instructed the task cannot.
        """
        setting = ToolSetting.objects.filter(name=OuterRef("tool_call__name"))
        by_role = Exists(setting.filter(approvers__user=user))
        by_session = Exists(Session.objects.writable_by(user).filter(pk=OuterRef("tool_call__task__session")))
        messages = ContextEntry.objects.filter(task=OuterRef("tool_call__task")).written_by(user)
        instructed = Exists(setting.filter(four_eyes=True)) & (Q(tool_call__task__started_by=user) | Exists(messages))
        is_approver = by_role | (~Exists(setting.filter(approvers__isnull=False)) & by_session)
        return self.waiting().filter(is_approver).exclude(instructed)


class Approval(models.Model):
    """An approval of exactly one call, bound by `fingerprint`. The worker that runs the call sets `consumed_at`."""

    tool_call = models.OneToOneField(ToolCallLog, models.CASCADE, related_name="approval")
    fingerprint = models.CharField(max_length=64)
    reason = models.CharField(max_length=300)
    covers = models.CharField(
        max_length=200,
        blank=True,
        help_text="The commands that an approval for the task covers; empty stands for calls for the same reason.",
    )
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.PENDING)
    scope = models.CharField(max_length=4, choices=ApprovalScope, default=ApprovalScope.ONCE)
    note = models.TextField(blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    consumed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="If it is undecided at this time, it is rejected."
    )

    objects = ApprovalQuerySet.as_manager()

    class Meta:
        db_table = "approvals"
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["expires_at"], condition=Q(decision="pending"), name="pending_approvals")]
        constraints = [
            models.CheckConstraint(condition=Q(decision__in=Decision.values), name="approval_decision_known"),
            models.CheckConstraint(condition=Q(scope__in=ApprovalScope.values), name="approval_scope_known"),
            models.CheckConstraint(
                condition=Q(consumed_at=None) | Q(decision=Decision.APPROVED), name="approval_consumed_was_given"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision}: {self.reason}"

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments that the tool runs with, to which the approval is bound."""
        arguments: dict[str, Any] = json.loads(self.tool_call.arguments or "{}")
        return arguments
