"""A move of the cut: from here on, requests begin with a compacted block in the place of old entries."""

from django.db import models
from django.db.models import Q

from tasks_app.models.session import Session
from tasks_app.models.task import Task


class Cause(models.TextChoices):
    FILLED = "filled", "The window was nearly full"
    REFUSED = "refused", "The provider refused the request as too long"


class ContextCutQuerySet(models.QuerySet["ContextCut"]):
    def in_session(self, session: Session) -> "ContextCutQuerySet":
        """Newest first; the first one of a window is in force for it."""
        return self.filter(session=session).order_by("-pk")


class ContextCut(models.Model):
    """`blob` is the address of what replaces all entries up to `seq`, as `Cut.text` writes it.

    Models with another window have cuts of their own. `masked_with` is the version of the secrets redacted in the blob;
    `summary_seq` the entry in which a model summed up what was cut, where an agent wants that.
    """

    session = models.ForeignKey(Session, models.CASCADE, related_name="cuts")
    task = models.ForeignKey(Task, models.CASCADE, related_name="cuts")
    window = models.PositiveIntegerField(help_text="The model's window, in tokens.")
    seq = models.PositiveIntegerField()
    blob = models.CharField(max_length=64)
    masked_with = models.CharField(max_length=16, blank=True)
    summary_seq = models.PositiveIntegerField(null=True, blank=True)
    cause = models.CharField(max_length=7, choices=Cause)
    tokens_before = models.PositiveIntegerField(help_text="The size of the whole request.")
    tokens_after = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ContextCutQuerySet.as_manager()

    class Meta:
        db_table = "context_cuts"
        ordering = ["-pk"]
        verbose_name = "cut"
        indexes = [models.Index(fields=["session", "window", "-id"], name="newest_cut_of_a_window")]
        constraints = [models.CheckConstraint(condition=Q(cause__in=Cause.values), name="context_cut_cause_known")]

    def __str__(self) -> str:
        return f"cut after entry {self.seq} of {self.session}"
