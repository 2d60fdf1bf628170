"""A note that lasts over sessions: of one user, of a project, or of the whole team."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from tasks_app.models.project import Project
from tasks_app.models.task import Task
from tasks_app.text import full_text
from tasks_app.text.retrieval import terms_of


class MemoryNoteQuerySet(models.QuerySet["MemoryNote"]):
    def of_team(self) -> "MemoryNoteQuerySet":
        return self.filter(owner=None, project=None)

    def of_projects(self, projects: models.QuerySet[Project]) -> "MemoryNoteQuerySet":
        return self.filter(project__in=projects.order_by().values("pk"))

    def of_user(self, user: Any) -> "MemoryNoteQuerySet":
        return self.filter(owner=user)

    def visible_to(self, user: Any) -> "MemoryNoteQuerySet":
        """One's own and the team's: where every query for notes starts; a project's are asked for by the project."""
        return self.filter(Q(owner=user) | Q(owner=None, project=None))

    def editable_by(self, user: Any) -> "MemoryNoteQuerySet":
        own = self.visible_to(user) if user.is_staff else self.filter(owner=user)
        return own | self.of_projects(Project.objects.writable_by(user))

    def with_any_term(self, terms: Sequence[str]) -> "MemoryNoteQuerySet":
        """Those that have any of these terms."""
        return self.filter(pk__in=full_text.NOTES.ids_with_any(terms)) if terms else self.none()


class MemoryNote(models.Model):
    """`task` and `call_id` say where it comes from, if an agent wrote it; `terms` is what it is found by."""

    LONGEST = 1000  # characters
    MOST = 1000  # of one owner

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="memory_notes",
        help_text="Empty: for the whole team, or a project.",
    )
    project = models.ForeignKey(
        Project, models.CASCADE, null=True, blank=True, related_name="notes", help_text="Only of a note without owner."
    )
    text = models.TextField(max_length=LONGEST)
    terms = models.TextField(blank=True, editable=False)
    auto = models.BooleanField(
        default=False, editable=False, help_text="Written automatically before old turns were cut."
    )
    task = models.ForeignKey(Task, models.SET_NULL, null=True, blank=True, editable=False, related_name="+")
    call_id = models.CharField(max_length=100, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = MemoryNoteQuerySet.as_manager()

    class Meta:
        db_table = "memory_notes"
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["owner", "-created_at"])]

    def __str__(self) -> str:
        return self.text if len(self.text) <= 60 else self.text[:59] + "…"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """The terms always are those of the text."""
        self.terms = " ".join(dict.fromkeys(terms_of(self.text)))
        super().save(*args, **kwargs)

    @property
    def team(self) -> bool:
        """Whether it is the whole team's."""
        return self.owner_id is None and self.project_id is None


class NoteVector(models.Model):
    """`values` are float32, as a vector of length 1. It belongs to the text of the digest: other text needs another.

    `model` is the provider's name of it: vectors of two models have nothing in common.
    """

    note = models.ForeignKey(MemoryNote, models.CASCADE, related_name="vectors")
    model = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    values = models.BinaryField()

    class Meta:
        db_table = "memory_vectors"
        constraints = [models.UniqueConstraint(fields=["note", "model"], name="one_vector_per_note_and_model")]

    def __str__(self) -> str:
        return f"{self.note_id} by {self.model}"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
