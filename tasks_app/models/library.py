"""The library of a project: files, and the passages of their pages for search."""

import os
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.db import models, transaction
from django.db.models import Q, Sum, Value
from django.db.models.signals import post_delete
from django.dispatch import receiver

from llm_app.sql import cached_sql, fetch_first
from tasks_app.models.project import Project
from tasks_app.text import full_text


class LibraryFileQuerySet(models.QuerySet["LibraryFile"]):
    def visible_to(self, user: Any) -> "LibraryFileQuerySet":
        return self.filter(project__in=Project.objects.visible_to(user).order_by().values("pk"))

    def of_project(self, project: Project) -> "LibraryFileQuerySet":
        return self.filter(project=project)

    def unread(self) -> "LibraryFileQuerySet":
        return self.filter(state__in=[LibraryFile.State.WAITING, LibraryFile.State.READING])

    def ready(self) -> "LibraryFileQuerySet":
        return self.filter(state=LibraryFile.State.READY)

    @cached_sql
    def sum_bytes(self, owner: Any) -> int | None:
        """Return the bytes of the files in a person's projects."""
        own = self.filter(project__owner=owner).order_by().values_list(Value(1))
        return fetch_first(own.annotate(all=Sum("size")).values_list("all", flat=True))


class LibraryFile(models.Model):
    """A file of a project. `key` is its name in the storage. `name` is the uploader's name for it, and never part of a
    path.

    The file has `count` parts, each called a `unit`, of which `pages_read` have been read. A process that reads it sets
    `held_by` and `held_until`. `tries` counts the attempts to read it.

    A ready file gets vectors for its passages. `vectors_of` is the model of all vectors, empty if no model is set up,
    or null while vectors may be missing. `vectors_problem` is the reason why some are missing. `held_by` and
    `held_until` also serve this phase: without a holder, the next attempt waits until `held_until`.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        READING = "reading"
        READY = "ready"
        FAILED = "failed"

    MAX_PER_PROJECT = 500  # files per project

    project = models.ForeignKey(Project, models.CASCADE, related_name="files")
    key = models.UUIDField(default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    size = models.PositiveBigIntegerField()
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    problem = models.TextField(blank=True)
    unit = models.CharField(max_length=20, default="page")
    count = models.PositiveIntegerField(default=0)
    pages_read = models.PositiveIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    held_by = models.CharField(max_length=100, blank=True)
    held_until = models.DateTimeField(null=True)
    vectors_of = models.CharField(max_length=200, null=True, editable=False)
    vectors_problem = models.TextField(blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = LibraryFileQuerySet.as_manager()

    class Meta:
        db_table = "library_files"
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["id"], condition=Q(state__in=["waiting", "reading"]), name="library_files_unread"),
            models.Index(
                fields=["id"], condition=Q(state="ready", vectors_of=None), name="library_files_without_vectors"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"/library/{self.pk}/"

    @property
    def storage_name(self) -> str:
        """The name in the storage."""
        return f"library/{self.project_id}/{self.key}"

    def open(self) -> Any:
        """Open the upload as a binary file. Raises OSError."""
        return default_storage.open(self.storage_name)

    def read(self) -> bytes:
        """Return the upload's content. Raises OSError."""
        with self.open() as file:
            content: bytes = file.read()
            return content

    @property
    def path_name(self) -> str:
        """The file name below `library/`, of at most 200 bytes."""
        path = PurePosixPath(self.name)
        stem = path.stem.encode()[: 200 - len(path.suffix.encode())].decode(errors="ignore")
        return f"{stem}{path.suffix}" if stem.strip(".") else "file"

    @property
    def is_pdf(self) -> bool:
        return self.name.lower().endswith(".pdf")


@receiver(post_delete, sender=LibraryFile)
def _delete_stored_file(instance: LibraryFile, **kwargs: Any) -> None:
    """Delete the stored file after the commit, also if a deleted project or owner took the row with it."""
    name, project = instance.storage_name, instance.project_id
    transaction.on_commit(lambda: default_storage.delete(name), robust=True)  # Django cannot log a failing partial
    transaction.on_commit(lambda: LibraryFolder(project).remove_deleted(), robust=True)


@receiver(post_delete, sender=Project)
def _delete_stored_folder(instance: Project, **kwargs: Any) -> None:
    """Delete the project's folder in the storage, after the files in it."""
    project = instance.pk
    transaction.on_commit(lambda: default_storage.delete(f"library/{project}"), robust=True)
    transaction.on_commit(lambda: shutil.rmtree(LibraryFolder(project).path, ignore_errors=True), robust=True)


class LibraryFolder:
    """The folder of this machine with a project's files by name, which its sessions read at `library/`.

    Several processes may update it together. A file's time is that of its upload, which tells the current file from
    an earlier one of the same name.
    """

    def __init__(self, project_id: Any) -> None:
        self.path = Path(settings.LIBRARY_FOLDERS_DIR) / str(project_id)
        self._files = LibraryFile.objects.filter(project=project_id).order_by("pk")

    def update(self) -> Path | None:
        """Add the missing files, remove the deleted ones, and return the folder; None if the project has no files.

        A file that the storage does not give is left out.
        """
        names = self._names()
        if names:
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o755)  # programs in the sandbox are another user
        self._remove_others(names)
        for name, file in names.items():
            with suppress(OSError):
                if not self._is_current(name, file):
                    self._add(name, file)
        return self.path if names else None

    def remove_deleted(self) -> None:
        """Remove the files that are no longer in the library."""
        if self.path.exists():
            self._remove_others(self._names())

    def _names(self) -> dict[str, LibraryFile]:
        """Return the files by name. Later ones of the same name get their number: report (12).pdf."""
        names: dict[str, LibraryFile] = {}
        for file in self._files:
            path = PurePosixPath(file.path_name)
            names[f"{path.stem} ({file.pk}){path.suffix}" if path.name in names else path.name] = file
        return names

    def _remove_others(self, names: dict[str, LibraryFile]) -> None:
        for path in self.path.iterdir() if self.path.exists() else ():
            if path.name not in names or not self._is_current(path.name, names[path.name]):
                path.unlink(missing_ok=True)

    def _is_current(self, name: str, file: LibraryFile) -> bool:
        try:
            status = (self.path / name).stat()
        except FileNotFoundError:
            return False
        return (status.st_size, status.st_mtime_ns) == (file.size, _nanoseconds(file))

    def _add(self, name: str, file: LibraryFile) -> None:
        """Copy the file. It appears complete, in one step."""
        temporary = self.path.with_name(f".{uuid.uuid4()}")
        try:
            with file.open() as source, temporary.open("wb") as target:
                shutil.copyfileobj(source, target)
            temporary.chmod(0o644)
            os.utime(temporary, ns=(_nanoseconds(file), _nanoseconds(file)))
            temporary.replace(self.path / name)
        finally:
            temporary.unlink(missing_ok=True)


def _nanoseconds(file: LibraryFile) -> int:
    return int(file.created_at.timestamp()) * 10**9 + file.pk % 10**9


class LibraryPassageQuerySet(models.QuerySet["LibraryPassage"]):
    def with_any_term(self, terms: Sequence[str]) -> "LibraryPassageQuerySet":
        return self.filter(pk__in=full_text.LIBRARY.ids_with_any(terms)) if terms else self.none()


class LibraryPassage(models.Model):
    """Some lines of a page. A passage never changes: a new upload is a new file."""

    file = models.ForeignKey(LibraryFile, models.CASCADE, related_name="passages", db_index=False)
    page = models.PositiveIntegerField()
    text = models.TextField()
    terms = models.TextField(editable=False)

    objects = LibraryPassageQuerySet.as_manager()

    class Meta:
        db_table = "library_passages"
        ordering = ["pk"]
        indexes = [models.Index(fields=["file", "page"])]

    def __str__(self) -> str:
        return f"{self.file_id}, {self.page}"


class PassageVector(models.Model):
    """The vector of a passage, of length 1, in float16: this saves half the bytes and changes a cosine by under 0.001.

    `model` is the provider's name of the model. Vectors of different models cannot be compared.
    """

    passage = models.OneToOneField(LibraryPassage, models.CASCADE, primary_key=True, related_name="vector")
    model = models.CharField(max_length=200)
    values = models.BinaryField()

    class Meta:
        db_table = "library_vectors"

    def __str__(self) -> str:
        return f"{self.passage_id} by {self.model}"
