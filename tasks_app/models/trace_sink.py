"""Trace sinks, to which events of tasks are sent: a file, an HTTP endpoint or an OpenTelemetry collector."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from tasks_app.models.entry import ContextEntry

CLAIM_DURATION = timedelta(seconds=60)  # the sending process renews its claim with each batch


class SinkKind(models.TextChoices):
    FILE = "file", "JSON lines in a file"
    HTTP = "http", "HTTP, signed"
    OTLP = "otlp", "OpenTelemetry"


class EventType(models.TextChoices):
    TASK_STARTED = "task_started"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    PLAN = "plan"
    SUMMARIZATION = "summarization"
    METADATA = "metadata"
    ATTEMPT_FAILED = "attempt_failed"
    HANDOFF = "handoff"
    DELEGATE = "delegate"
    FINAL_ANSWER = "final_answer"
    TASK_ENDED = "task_ended"


def check_events(names: Any) -> None:
    """Check that the value is a list of event types. Raises ValidationError."""
    if not isinstance(names, list) or not set(map(str, names)) <= set(EventType.values):
        raise ValidationError(f"Write a list of these: {', '.join(EventType.values)}.")


class TraceSinkQuerySet(models.QuerySet["TraceSink"]):
    def due(self) -> "TraceSinkQuerySet":
        """Filter sinks that have unsent entries and are not waiting after a failure."""
        newest = models.Subquery(ContextEntry.objects.order_by("-pk").values("pk")[:1])
        return self.filter(enabled=True, next_at__lte=Now(), cursor__lt=newest)

    def with_lag(self) -> "TraceSinkQuerySet":
        """Annotate `lag`, the number of unsent entries."""
        unsent = ContextEntry.objects.filter(pk__gt=models.OuterRef("cursor")).order_by()
        count = unsent.annotate(count=models.Func("pk", function="Count")).values("count")
        return self.annotate(lag=models.Subquery(count))


class TraceSink(models.Model):
    """A sink. `cursor` is the id of the newest entry whose events were delivered. `key_name` names its service key.

    `claimed_by` is the engine process that currently sends to it.
    """

    KEY_PREFIX = "trace."

    name = models.CharField(max_length=100, unique=True, validators=[RegexValidator(r"^[A-Za-z0-9_.-]+\Z")])
    kind = models.CharField(max_length=4, choices=SinkKind)
    enabled = models.BooleanField(default=True)
    url = models.CharField(
        "address",
        max_length=500,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s/]", "Write the whole address, with http:// or https://.")],
        help_text="For HTTP and OpenTelemetry (https://…/v1/traces). An internal one must be among the allowed "
        "internal addresses.",
    )
    events = models.JSONField(
        default=list,
        blank=True,
        validators=[check_events],
        help_text='Types of events that it gets, such as ["final_answer"]. Empty: all.',
    )
    content = models.BooleanField(
        default=False,
        help_text="OpenTelemetry only: include arguments and results of tools. Files and HTTP always include them.",
    )
    max_bytes = models.PositiveBigIntegerField(
        default=50_000_000,
        validators=[MinValueValidator(10_000)],
        help_text="Files only: size at which a new file begins. The four files before it stay.",
    )

    cursor = models.BigIntegerField(default=0, editable=False)
    delivered = models.PositiveBigIntegerField(default=0, editable=False, help_text="Events that have arrived.")
    delivered_at = models.DateTimeField(null=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False, help_text="Consecutive failures.")
    last_error = models.TextField(blank=True, editable=False)
    last_error_at = models.DateTimeField(null=True, editable=False)
    next_at = models.DateTimeField(db_default=Now(), editable=False, help_text="When it is tried again.")
    claimed_by = models.CharField(max_length=100, blank=True, editable=False)
    claimed_until = models.DateTimeField(null=True, editable=False)

    objects = TraceSinkQuerySet.as_manager()

    class Meta:
        db_table = "trace_sinks"
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=SinkKind.values), name="trace_sink_kind_known"),
            models.CheckConstraint(condition=Q(kind=SinkKind.FILE) | ~Q(url=""), name="trace_sink_has_an_address"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the sink. The cursor of a new one starts at the newest entry."""
        if self._state.adding and not self.cursor:
            self.cursor = ContextEntry.objects.aggregate(newest=models.Max("pk"))["newest"] or 0
        super().save(*args, **kwargs)

    @property
    def key_name(self) -> str:
        return f"{self.KEY_PREFIX}{self.name}"

    @property
    def path(self) -> Path:
        """The path of a file sink."""
        return Path(settings.TRACES_DIR) / f"{self.name}.jsonl"
