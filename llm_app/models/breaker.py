"""Circuit breakers of providers, shared by all workers, and the history of their states."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from llm_app.models.provider import Provider


class BreakerState(models.TextChoices):
    CLOSED = "closed", "closed"  # calls are allowed
    OPEN = "open", "open"  # no calls are allowed
    HALF_OPEN = "half_open", "half-open"  # one call probes, others are rejected


class CircuitBreaker(models.Model):
    """A breaker, written only when its state changes. A provider without a row has a closed breaker.

    `epoch` counts the changes. An update names the epoch that it read, so only one of several concurrent updates
    succeeds.
    """

    provider = models.OneToOneField(Provider, models.CASCADE, primary_key=True, related_name="circuit_breaker")
    state = models.CharField(max_length=9, choices=BreakerState, default=BreakerState.CLOSED)
    forced = models.BooleanField(default=False, help_text="Stays as it is until an administrator resets it.")
    key_refused = models.BooleanField(default=False, help_text="It opened because the provider refused its key.")
    reason = models.TextField(blank=True)
    probe_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Open: when one call may probe the provider. Half-open: when that call is presumed lost.",
    )
    epoch = models.PositiveIntegerField(default=0)
    changed_at = models.DateTimeField(null=True, blank=True, help_text="Earlier calls no longer count.")

    class Meta:
        db_table = "circuit_breakers"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=BreakerState.values), name="breaker_state_known"),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}, forced" if self.forced else self.get_state_display()


class BreakerChange(models.Model):
    """A change of a breaker's state. `by` is the administrator who made it; empty if the calls caused it."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="breaker_changes")
    before = models.CharField(max_length=9, choices=BreakerState)
    after = models.CharField(max_length=9, choices=BreakerState)
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "breaker_changes"
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.provider}: {self.get_before_display()} → {self.get_after_display()}"
