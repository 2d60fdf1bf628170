"""The log of provider calls. It contains references from which the exact request can be rebuilt, never a copy of it."""

import hashlib
import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from llm_app.sql import cached_sql, fetch_all


class LLMCallStatus(models.TextChoices):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    ABORTED = "aborted"


# Calls that used tokens of a model without a price. Calls of the demo cost nothing.
UNPRICED = (
    Q(cost_usd=None) & (Q(input_tokens__gt=0) | Q(output_tokens__gt=0)) & ~Q(adapter="scripted", provider_model="demo")
)


class LLMLog(models.Model):
    """A log entry of one attempt at one provider.

    The request consists of the blobs `system_blob`, `tools_blob` and `compacted_blob` (the text of a cut), of the
    session's entries in context with `cut_seq` < seq ≤ `last_seq`, and of `parameters`, serialized by version
    `adapter_version` of `adapter`. A call that is not a step of a conversation has its messages in `messages_blob`
    instead. `request_sha256` is the hash of the sent bytes.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user_id = models.BigIntegerField(null=True, blank=True, help_text="The user whose budgets it was counted against.")
    task_id = models.UUIDField(null=True, blank=True)
    session_id = models.UUIDField(null=True, blank=True)
    purpose = models.CharField(max_length=10)
    agent_version_id = models.BigIntegerField(
        null=True, blank=True, help_text="The version of the agent whose step it was. Empty: the agent as it ships."
    )
    iteration = models.PositiveIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=1)

    model = models.CharField(max_length=100, help_text="The logical model.")
    provider = models.CharField(max_length=100)
    provider_model = models.CharField(max_length=200)
    adapter = models.CharField(max_length=20)
    adapter_version = models.PositiveSmallIntegerField()

    system_blob = models.CharField(max_length=64, blank=True)
    tools_blob = models.CharField(max_length=64, blank=True)
    compacted_blob = models.CharField(max_length=64, blank=True)
    messages_blob = models.CharField(max_length=64, blank=True)
    cut_seq = models.PositiveIntegerField(default=0)
    last_seq = models.PositiveIntegerField(default=0)
    estimated_tokens = models.PositiveIntegerField(default=0, help_text="The size of the request before it was sent.")
    parameters = models.JSONField(default=dict)
    masked_spans = models.JSONField(default=list)
    request_sha256 = models.CharField(max_length=64)
    request_bytes = models.PositiveIntegerField()

    status = models.CharField(max_length=10, choices=LLMCallStatus)
    error_type = models.CharField(
        max_length=30, blank=True, help_text="The kind of failure: a class in llm_app.errors."
    )
    error = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=50, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    cache_write_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    thinking_tokens = models.PositiveIntegerField(default=0)
    usage_estimated = models.BooleanField(
        default=False, help_text="The provider reported no usage, so it is estimated."
    )
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, blank=True)
    first_delta_ms = models.PositiveIntegerField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "llm_logs"
        ordering = ["-created_at"]
        verbose_name = "LLM call"
        indexes = [  # all ascending: new rows come last, so SQLite moves no entries
            models.Index(fields=["task_id", "created_at"]),
            models.Index(fields=["session_id", "created_at"]),
            models.Index(fields=["provider", "created_at"]),
            models.Index(fields=["user_id", "created_at"]),
            models.Index(fields=["created_at"]),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(status__in=LLMCallStatus.values), name="llm_log_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} → {self.provider}/{self.provider_model} ({self.status})"


class Blob(models.Model):
    """A system prompt, a tool list, a compacted block or a similar text, stored once under its SHA-256."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    content = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    left_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When a session that named it was deleted. A day later it goes, too.",
    )

    class Meta:
        db_table = "blobs"
        indexes = [models.Index(fields=["left_at"], condition=Q(left_at__isnull=False), name="left_blobs")]

    def __str__(self) -> str:
        return self.sha256[:12]

    @classmethod
    def store(cls, content: str) -> str:
        """Store `content` if it is new, and return its address. A row must refer to the blob within a day."""
        address = hashlib.sha256(content.encode()).hexdigest()
        rows = _left_at(address)
        is_left = rows not in ([], [None])
        if not rows or (is_left and not cls.objects.filter(pk=address).update(left_at=None)):
            cls.objects.get_or_create(sha256=address, defaults={"content": content})
        return address


@cached_sql
def _left_at(address: str) -> list[datetime | None]:
    return fetch_all(Blob.objects.filter(pk=address).values_list("left_at", flat=True))
