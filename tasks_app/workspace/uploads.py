"""Uploads and deletions by people. Earlier contents are in the file history."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import PurePosixPath
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from tasks_app.models import Session
from tasks_app.models.errors import Refusal
from tasks_app.record import images
from tasks_app.runtime import broadcast
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import measure, require_disk, workspace_of
from tools_app.files import UNWRITABLE, folded, to_stored

LARGEST = 50 * 1000**2  # bytes per file
LONGEST_NAME = 120  # characters


class FileTooLarge(Refusal):
    """A file is larger than 50 MB. Let the agent fetch it, or split it."""

    status = 413


def attach(session: Session, files: Iterable[UploadedFile]) -> dict[str, Any]:
    """Store files and encode pictures ahead of `post_message`, which takes the result as arguments.

    Raises what `store` raises.
    """
    paths = store(session, files)
    return {"attachments": paths, "pictures": images.store_attachments(workspace_of(session), paths)}


def store(session: Session, files: Iterable[UploadedFile]) -> list[str]:
    """Store all the files, or none if one is too large, and return their paths.

    Raises FileTooLarge, DiskFull, FilesQuotaFull and ToolError.
    """
    files, workspace = list(files), workspace_of(session)
    if files:
        require_disk(session)
    file_history.look_first(session, workspace)
    if any((file.size or 0) > LARGEST for file in files):
        raise FileTooLarge(field="files")
    taken = {folded(entry.name) for entry in workspace.entries()} if files else set()
    paths = []
    for file in files:
        path = next(name for name in _names(file.name or "") if folded(name) not in taken)
        workspace.write_file(path, file, file.size or 0)
        taken.add(folded(path))
        paths.append(path)
    if paths:
        file_history.record(session, workspace, tool="upload", only=paths)
        measure(session)
        broadcast.files_changed(session)
    return paths


def replace(session: Session, path: str, file: UploadedFile) -> str:
    """Store a file at `path`, replace an existing one, and return the real path.

    Raises:
        DiskFull, FilesQuotaFull, ToolError.
    """
    require_disk(session)
    workspace = workspace_of(session)
    real_path = workspace.real_path(path)
    place = to_stored(real_path)
    file_history.record(session, workspace, only=[place])  # what a program has written there since the last look
    workspace.write_file(path, file, file.size or 0)
    file_history.record(session, workspace, tool="upload", only=[place])
    measure(session)
    broadcast.files_changed(session)
    return real_path


def delete(session: Session, path: str) -> None:
    """Delete a file or folder. Raises ToolError."""
    workspace = workspace_of(session)
    place = to_stored(workspace.real_path(path))
    file_history.record(session, workspace, only=[place])  # what a program has written there since the last look
    workspace.delete(path)
    is_known = session.last_seq > 0
    file_history.record(session, workspace, tool="delete", only=[place], told=not is_known)
    measure(session)
    broadcast.files_changed(session)


def _names(given: str) -> Iterator[str]:
    """Yield a safe form of the name's last part, then the same with numbers."""
    name = UNWRITABLE.sub("_", PurePosixPath(given.replace("\\", "/")).name).lstrip(".")
    path = PurePosixPath(name[-LONGEST_NAME:] or "file")
    yield str(path)
    for number in count(2):
        yield f"{path.stem}-{number}{path.suffix}"
