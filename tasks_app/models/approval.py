"""An approval: a person's word on one exact call, given once and used once."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from tasks_app.models.tool_call import ToolCallLog


class Decision(models.TextChoices):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Scope(models.TextChoices):
    ONCE = "once", "This call"
    TASK = "task", "Such calls in this task"


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

    class Meta:
        db_table = "approvals"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(condition=Q(decision__in=Decision.values), name="approval_decision_known"),
            models.CheckConstraint(condition=Q(scope__in=Scope.values), name="approval_scope_known"),
            models.CheckConstraint(
                condition=Q(consumed_at=None) | Q(decision=Decision.APPROVED), name="approval_consumed_was_given"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.decision}: {self.reason}"
