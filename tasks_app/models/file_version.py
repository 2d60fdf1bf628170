"""What a file of a workspace held before the agent overwrote or deleted it."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models

from tasks_app.models.session import Session
from tasks_app.models.task import Task


class FileVersionQuerySet(models.QuerySet["FileVersion"]):
    def visible_to(self, user: Any) -> "FileVersionQuerySet":
        return self.filter(session__in=Session.objects.visible_to(user))


class FileVersion(models.Model):
    """The content lies beside the workspaces, under the SHA-256 of itself; the row says of which file and when."""

    MOST = 20  # of one file
    MOST_BYTES = 200 * 1000**2  # of one session

    session = models.ForeignKey(Session, models.CASCADE, related_name="file_versions")
    task = models.ForeignKey(Task, models.SET_NULL, null=True, related_name="+")
    path = models.CharField(max_length=4096)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField(help_text="Bytes.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = FileVersionQuerySet.as_manager()

    class Meta:
        db_table = "file_versions"
        ordering = ["-pk"]
        indexes = [models.Index(fields=["session", "path", "-id"])]

    def __str__(self) -> str:
        return f"{self.path} before {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def content(self) -> Path:
        return folder_of(self.session_id) / self.sha256


def folder_of(session_id: Any) -> Path:
    """Where the contents of a session's versions lie; it goes with the session."""
    return Path(settings.VERSIONS_DIR) / str(session_id)
