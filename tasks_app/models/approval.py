"""An approval: a person's word on one exact call, given once and used once."""

import json
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from tasks_app.models.entry import ContextEntry
from tasks_app.models.session import Session
from tasks_app.models.task_state import WaitingFor
from tasks_app.models.tool_call import ToolCallLog
from tools_app.models import ToolSetting


class Decision(models.TextChoices):
    PENDING = "pending", _("Pending")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")


class Scope(models.TextChoices):
    ONCE = "once", "This call"
    TASK = "task", "Similar calls in this task"


class ApprovalQuerySet(models.QuerySet["Approval"]):
    def waiting(self) -> "ApprovalQuerySet":
        """Those that can still be decided; an expired one counts as rejected."""
        waits = self.filter(decision=Decision.PENDING, tool_call__task__waiting_for=WaitingFor.APPROVAL)
        return waits.filter(Q(expires_at=None) | Q(expires_at__gt=Now()))

    def expired(self) -> "ApprovalQuerySet":
        return self.filter(decision=Decision.PENDING, expires_at__lte=Now())

    def decidable_by(self, user: Any) -> "ApprovalQuerySet":
        """Those that this person may decide, with the tools' settings of this moment.

        A tool's approvers are the members of the role that its setting names; without one, all who may write in the
        session. With four eyes, never a person who has told the task what to do.
        """
        setting = ToolSetting.objects.filter(name=OuterRef("tool_call__name"))
        by_role = Exists(setting.filter(approvers__user=user))
        by_session = Exists(Session.objects.writable_by(user).filter(pk=OuterRef("tool_call__task__session")))
        told = ContextEntry.objects.filter(task=OuterRef("tool_call__task")).told_by(user)
        own = Exists(setting.filter(four_eyes=True)) & (Q(tool_call__task__started_by=user) | Exists(told))
        chosen = by_role | (~Exists(setting.filter(approvers__isnull=False)) & by_session)
        return self.waiting().filter(chosen).exclude(own)


class Approval(models.Model):
    """Bound to its call by `fingerprint`. `consumed_at` is set by the one worker that runs the call."""

    tool_call = models.OneToOneField(ToolCallLog, models.CASCADE, related_name="approval")
    fingerprint = models.CharField(max_length=64)
    reason = models.CharField(max_length=300)
    decision = models.CharField(max_length=8, choices=Decision, default=Decision.PENDING)
    scope = models.CharField(max_length=4, choices=Scope, default=Scope.ONCE)
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
            models.CheckConstraint(condition=Q(scope__in=Scope.values), name="approval_scope_known"),
            models.CheckConstraint(
                condition=Q(consumed_at=None) | Q(decision=Decision.APPROVED), name="approval_consumed_was_given"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision}: {self.reason}"

    @property
    def arguments(self) -> dict[str, Any]:
        """All arguments that the tool runs with: what the approval is bound to."""
        found: dict[str, Any] = json.loads(self.tool_call.arguments or "{}")
        return found
