"""Files that people upload: stored in the workspace under a name that is free there."""

from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import PurePosixPath

from django.core.files.uploadedfile import UploadedFile

from tasks_app.errors import Refusal
from tasks_app.models import Session
from tasks_app.workspaces import workspace_of

LARGEST = 50 * 1000**2  # bytes of one file
LONGEST_NAME = 120  # characters


class FileTooLarge(Refusal):
    """A file is larger than 50 MB. Let the agent fetch it, or split it."""

    status = 413


def store(session: Session, files: Iterable[UploadedFile]) -> list[str]:
    """Stores all or, if one is too large, none; returns their paths. Raises FileTooLarge and ToolError."""
    files, workspace = list(files), workspace_of(session)
    if any((file.size or 0) > LARGEST for file in files):
        raise FileTooLarge(field="files")
    taken = {entry.name for entry in workspace.entries()} if files else set()
    paths = []
    for file in files:
        path = next(name for name in _names(file.name or "") if name not in taken)
        workspace.write_bytes(path, file.read())
        taken.add(path)
        paths.append(path)
    return paths


def _names(given: str) -> Iterator[str]:
    """The last part of the given name, made harmless; then the same with a number."""
    name = "".join(c if c.isprintable() else "_" for c in PurePosixPath(given.replace("\\", "/")).name).lstrip(".")
    path = PurePosixPath(name[-LONGEST_NAME:] or "file")
    yield str(path)
    for number in count(2):
        yield f"{path.stem}-{number}{path.suffix}"
