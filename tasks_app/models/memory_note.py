"""Notes of the memory, which sessions share: a user's, a project's or the team's."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from llm_app.sql import cached_sql, fetch_first
from tasks_app.models.project import Project
from tasks_app.models.task import Task
from tasks_app.text import full_text
from tasks_app.text.retrieval import terms_of


class MemoryNoteQuerySet(models.QuerySet["MemoryNote"]):
    def of_team(self) -> "MemoryNoteQuerySet":
        return self.filter(owner=None, project=None)

    @cached_sql
    def any_key(self) -> Any:
        """Return the key of a note, or None if there are no notes."""
        return fetch_first(self.order_by().values_list("pk", flat=True))

    def of_projects(self, projects: models.QuerySet[Project]) -> "MemoryNoteQuerySet":
        return self.filter(project__in=projects.order_by().values("pk"))

    def of_user(self, user: Any) -> "MemoryNoteQuerySet":
        return self.filter(owner=user)

    def visible_to(self, user: Any) -> "MemoryNoteQuerySet":
        """Filter the user's own notes and the team's. A project's notes are queried by project."""
        return self.filter(Q(owner=user) | Q(owner=None, project=None))

    def editable_by(self, user: Any) -> "MemoryNoteQuerySet":
        notes = self.visible_to(user) if user.is_staff else self.filter(owner=user)
        return notes | self.of_projects(Project.objects.writable_by(user))

    def with_any_term(self, terms: Sequence[str]) -> "MemoryNoteQuerySet":
        """Filter notes that have any of the terms."""
        return self.filter(pk__in=full_text.NOTES.ids_with_any(terms)) if terms else self.none()


class MemoryNote(models.Model):
    """A note. `task` and `call_id` are set if an agent wrote it; `terms` is for search."""

    MAX_LENGTH = 1000  # characters
    MAX_PER_OWNER = 1000  # notes per owner

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="memory_notes",
        help_text="Empty: for the whole team, or a project.",
    )
    project = models.ForeignKey(
        Project,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="notes",
        help_text="Only for notes without an owner.",
    )
    text = models.TextField(max_length=MAX_LENGTH)
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
        """Save the note with the terms of its text."""
        self.terms = " ".join(dict.fromkeys(terms_of(self.text)))
        super().save(*args, **kwargs)

    @property
    def team(self) -> bool:
        """Return whether the note belongs to the whole team."""
        return self.owner_id is None and self.project_id is None


class NoteVector(models.Model):
    """The vector of a note, of length 1, in float32. `digest` is the hash of the text that it was computed from.

    `model` is the provider's name of the model. Vectors of different models cannot be compared.
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
