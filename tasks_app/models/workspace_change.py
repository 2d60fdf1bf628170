"""The file history's rows: the changes of each call. File contents are stored outside, by SHA-256."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.db import models, transaction

from llm_app.sql import cached_sql, fetch_all
from tasks_app.models.session import Session
from tasks_app.models.task import Task


class WorkspaceChangeQuerySet(models.QuerySet["WorkspaceChange"]):
    def visible_to(self, user: Any) -> "WorkspaceChangeQuerySet":
        return self.filter(session__in=Session.objects.visible_to(user))

    @cached_sql
    def untold_in(self, session: Any) -> list[tuple[int, str, str]]:
        """Return the key, path and tool of each file of the changes that the agent does not know of."""
        return fetch_all(self.filter(session=session, told=False).values_list("pk", "files__path", "tool"))


class WorkspaceChange(models.Model):
    """Changes by one call.

    Without a `call_id`, by a person (`tool` says how), or by a process that ran between two calls.
    """

    UNDO = "undo"

    session = models.ForeignKey(Session, models.CASCADE, related_name="changes")
    task = models.ForeignKey(Task, models.SET_NULL, null=True, related_name="+")
    call_id = models.CharField(max_length=100, blank=True)
    tool = models.CharField(max_length=100, blank=True)
    seq = models.PositiveIntegerField(help_text="The session's newest entry when the files were changed.")
    told = models.BooleanField(default=True, help_text="Whether the agent knows of it.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = WorkspaceChangeQuerySet.as_manager()
    unsaved: "Sequence[FileChange]" = ()
    first_paths: Sequence[str] = ()  # for pages, redacted
    further_paths = 0  # the number of the others

    class Meta:
        db_table = "workspace_changes"
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["session", "-id"], name="changes_of_a_session"),
            models.Index(fields=["session", "call_id"], name="changes_of_a_call"),
        ]

    def __str__(self) -> str:
        return f"{self.tool or 'between two calls'}, {self.created_at:%Y-%m-%d %H:%M}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the change and its `unsaved` files."""
        with transaction.atomic(savepoint=False):
            super().save(*args, **kwargs)
            FileChange.objects.bulk_create(self.unsaved, batch_size=500)
        self.unsaved = ()


class FileChangeQuerySet(models.QuerySet["FileChange"]):
    def versions_of(self, session: Session) -> "FileChangeQuerySet":
        """Filter the session's changes whose earlier content is stored."""
        return self.filter(change__session=session).exclude(before_sha256="").select_related("change__session")


class FileChange(models.Model):
    """A file in a change. A missing mode means that the file did not exist; a missing SHA-256, that its content is not
    stored.
    """

    change = models.ForeignKey(WorkspaceChange, models.CASCADE, related_name="files")
    path = models.CharField(max_length=4096)
    before_mode = models.PositiveIntegerField(null=True)
    before_size = models.PositiveBigIntegerField(default=0, help_text="Bytes.")
    before_sha256 = models.CharField(max_length=64, blank=True)
    after_mode = models.PositiveIntegerField(null=True)
    after_size = models.PositiveBigIntegerField(default=0, help_text="Bytes.")
    after_sha256 = models.CharField(max_length=64, blank=True)

    objects = FileChangeQuerySet.as_manager()

    class Meta:
        db_table = "file_changes"
        ordering = ["-change_id", "path"]

    def __str__(self) -> str:
        return f"{self.path} {self.action}"

    @property
    def action(self) -> str:
        """The action: created, changed or deleted."""
        if self.before_mode is None:
            return "created"
        return "deleted" if self.after_mode is None else "changed"

    @property
    def is_kept(self) -> bool:
        """Return whether the file can be restored to its earlier state."""
        return self.before_mode is None or bool(self.before_sha256)

    @property
    def content(self) -> Path:
        """The path of the earlier content, if it is stored."""
        return self.change.session.history_path / self.before_sha256
