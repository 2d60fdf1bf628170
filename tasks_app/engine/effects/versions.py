"""Earlier contents of files, kept when the agent overwrites or deletes them: the newest few of each file."""

import hashlib
from collections.abc import Collection, Sequence
from uuid import uuid4

from django.db.models import Sum

from tasks_app.engine.effects.registry import Changes, handles
from tasks_app.models import FileVersion, Session, Task
from tasks_app.models.tool_call import folder_of
from tasks_app.workspaces import workspace_of
from tools_app.contract.effects import KeepVersion
from tools_app.editing.changes import content_before, kept_versions


@handles(KeepVersion)
def keep_version(effect: KeepVersion, changes: Changes) -> None:
    unsaved = [row for row in changes.rows if isinstance(row, FileVersion)]
    changes.rows.append(keep(changes.task.session, changes.task, effect, unsaved))


def restore(version: FileVersion) -> None:
    """The file holds again what it held then; what it holds now is kept as a version. Raises ToolError."""
    workspace, session = workspace_of(version.session), version.session
    now = content_before(version.path, workspace) if workspace.is_file(version.path) else None
    content = version.content.read_bytes()
    # the newest versions are kept: this may delete the restored one
    rows: list[FileVersion] = []
    for effect in kept_versions(version.path, now):
        rows.append(keep(session, None, effect, rows))
    workspace.write_bytes(version.path, content)
    FileVersion.objects.bulk_create(rows)


def keep(session: Session, task: Task | None, effect: KeepVersion, unsaved: Sequence[FileVersion] = ()) -> FileVersion:
    """Writes the content, and deletes older versions of the file.

    The row is for the transaction of the result, as those are that are still `unsaved`.
    """
    digest = hashlib.sha256(effect.data).hexdigest()
    row = FileVersion(session=session, task=task, path=effect.path, sha256=digest, size=len(effect.data))
    if not row.content.exists():
        folder_of(session.pk).mkdir(mode=0o700, parents=True, exist_ok=True)
        part = row.content.with_suffix(f".{uuid4().hex}")  # a crash in the middle leaves no half of a content
        part.write_bytes(effect.data)
        part.replace(row.content)
    _forget_oldest(row, {version.sha256 for version in (row, *unsaved)})
    return row


def _forget_oldest(new: FileVersion, needed: Collection[str]) -> None:
    """With the new one there are at most MOST of its file, and MOST_BYTES of the session; `needed` contents stay."""
    same = FileVersion.objects.filter(session=new.session)
    for old in same.filter(path=new.path)[FileVersion.MOST - 1 :]:
        _forget(old, needed)
    room = FileVersion.MOST_BYTES - new.size - (same.aggregate(sum=Sum("size"))["sum"] or 0)
    for old in same.order_by("pk").iterator() if room < 0 else ():
        _forget(old, needed)
        if (room := room + old.size) >= 0:
            break


def _forget(old: FileVersion, needed: Collection[str]) -> None:
    """A content that another row names stays, too."""
    old.delete()
    named = FileVersion.objects.filter(session=old.session, sha256=old.sha256)
    if old.sha256 not in needed and not named.exists():
        old.content.unlink(missing_ok=True)
