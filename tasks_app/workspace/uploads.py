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
from tasks_app.workspace.folders import check_space, update_usage, workspace_of
from tools_app.files import UNWRITABLE, folded, to_stored

MAX_FILE_BYTES = 50 * 1000**2  # bytes per file
MAX_NAME_CHARS = 120  # characters


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
        check_space(session)
    file_history.ensure_snapshot(session, workspace)
    if any((file.size or 0) > MAX_FILE_BYTES for file in files):
        raise FileTooLarge(field="files")
    used_names = {folded(entry.name) for entry in workspace.entries()} if files else set()
    paths = []
    for file in files:
        path = next(name for name in _candidate_names(file.name or "") if folded(name) not in used_names)
        workspace.write_file(path, file, file.size or 0)
        used_names.add(folded(path))
        paths.append(path)
    if paths:
        file_history.record(session, workspace, tool="upload", only=paths)
        update_usage(session)
        broadcast.files_changed(session)
    return paths


def replace(session: Session, path: str, file: UploadedFile) -> str:
    """Store a file at `path`, replace an existing one, and return the real path.

    Raises:
        DiskFull, FilesQuotaFull, ToolError.
    """
    check_space(session)
    workspace = workspace_of(session)
    real_path = workspace.real_path(path)
    stored_path = to_stored(real_path)
    file_history.record(session, workspace, only=[stored_path])  # what a program has written there since the last look
    workspace.write_file(path, file, file.size or 0)
    file_history.record(session, workspace, tool="upload", only=[stored_path])
    update_usage(session)
    broadcast.files_changed(session)
    return real_path


def delete(session: Session, path: str) -> None:
    """Delete a file or folder. Raises ToolError."""
    workspace = workspace_of(session)
    stored_path = to_stored(workspace.real_path(path))
    file_history.record(session, workspace, only=[stored_path])  # what a program has written there since the last look
    workspace.delete(path)
    is_known = session.last_seq > 0
    file_history.record(session, workspace, tool="delete", only=[stored_path], told=not is_known)
    update_usage(session)
    broadcast.files_changed(session)


def _candidate_names(file_name: str) -> Iterator[str]:
    """Yield a safe form of the name's last part, then the same with numbers."""
    name = UNWRITABLE.sub("_", PurePosixPath(file_name.replace("\\", "/")).name).lstrip(".")
    path = PurePosixPath(name[-MAX_NAME_CHARS:] or "file")
    yield str(path)
    for number in count(2):
        yield f"{path.stem}-{number}{path.suffix}"
