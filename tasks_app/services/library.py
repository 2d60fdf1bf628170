"""Adding and deleting files of a project's library. A worker reads them later."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from django.core.files.storage import default_storage
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from tasks_app.models import LibraryFile, Limits, Project
from tasks_app.models.errors import DiskFull, FilesQuotaFull, Refusal
from tasks_app.workspace.folders import has_free_disk, used_bytes
from tools_app.documents import visible

MAX_FILE_BYTES = 50 * 1000**2  # bytes per file


class LibraryFileTooLarge(Refusal):
    """A file is larger than 50 MB. Split it."""

    status = 413


class StorageFails(Refusal):
    """The file cannot be stored just now. Try again later, or tell an administrator."""

    status = 503


class LibraryFull(Refusal):
    """The library has as many files as it may have. Delete some that are no longer needed."""


def add_files(project: Project, person: Any, files: Sequence[UploadedFile]) -> list[LibraryFile]:
    """Add all the files, or none if one is too large. They count towards the quota of the project's owner.

    Raises LibraryFileTooLarge, LibraryFull, DiskFull or FilesQuotaFull.
    """
    if not has_free_disk():
        raise DiskFull()
    if any((file.size or 0) > MAX_FILE_BYTES for file in files):
        raise LibraryFileTooLarge(field="files")
    if LibraryFile.objects.of_project(project).count() + len(files) > LibraryFile.MAX_PER_PROJECT:
        raise LibraryFull()
    if used_bytes(project.owner_id) + sum(file.size or 0 for file in files) > Limits.current().user_bytes:
        raise FilesQuotaFull("The files of this project's owner take up all the space that they may use.")
    return [_add(project, person, file) for file in files]


def _add(project: Project, person: Any, file: UploadedFile) -> LibraryFile:
    row = LibraryFile(project=project, name=display_name(file.name or ""), size=file.size or 0, added_by=person)
    try:
        default_storage.save(row.storage_name, file)
        row.save()
    except BaseException as error:
        with suppress(OSError):
            default_storage.delete(row.storage_name)
        if isinstance(error, OSError):
            raise StorageFails() from error
        raise
    return row


def display_name(file_name: str) -> str:
    """Return the last part of a file name, in one line, without characters of markup."""
    name = " ".join(visible(PurePosixPath(file_name.replace("\\", "/")).name).split())
    name = "".join("_" if character in '<>[]"`|' else character for character in name)
    return name[-120:] or "file"


def delete_file(file: LibraryFile) -> None:
    with transaction.atomic():
        file.project.publish_change()
        file.delete()
