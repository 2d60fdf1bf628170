"""Having files back: all or some, in their session or in a fork, and what people see of a change."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from llm_app.redaction import Redactor
from tasks_app.errors import Refusal, TaskRunning
from tasks_app.events import broadcast
from tasks_app.file_history.look import first_entry, history_of, last_look, newest_entry, record_locked, row_of
from tasks_app.models import FileChange, Session, Task, WorkspaceChange
from tasks_app.workspaces import workspace_of
from tools_app.editing import diff
from tools_app.errors import ToolError
from tools_app.files import FileHistory, FileState, Workspace, as_text, differences
from tools_app.files.encoding import encoding_of


class NothingToPutBack(Refusal):
    """There is nothing to put back: these files are as they were before this call, or their content was not kept."""


class NotChanged(Refusal):
    """This file was not changed by this call or a later one. Take one of the paths of the change."""

    status = 422


@dataclass(frozen=True, kw_only=True)
class Undone:
    """`change` is the undo itself, which can be undone, too. `left` are paths that are not as they were before."""

    change: WorkspaceChange
    left: Sequence[str] = ()


def undo(change: WorkspaceChange, paths: Collection[str] = (), redactor: Redactor | None = None) -> Undone:
    """Put files back to what they were before the change: all that it or a later one changed, or only `paths`.

    Paths may be written as `redactor` shows them. A task that starts meanwhile looks at the files before its first call
    that may change them, and so waits for the lock. Raises TaskRunning, NotChanged, NothingToPutBack.
    """
    workspace = workspace_of(change.session)
    root = change.session.root_id or change.session.pk
    in_workspace = Q(session=root) | Q(session__root=root)  # delegated tasks work in folders of it
    with history_of(workspace).locked():
        if Task.objects.runnable().filter(in_workspace).exists():
            raise TaskRunning()
        undone = _undo(change, workspace, paths, redactor)
    broadcast.files_changed(change.session)
    return undone


def _undo(change: WorkspaceChange, workspace: Workspace, paths: Collection[str], redactor: Redactor | None) -> Undone:
    session = change.session
    record_locked(session, workspace)  # what nobody has looked at yet must not be lost
    wanted = first_changes(session, from_change=change.pk)
    if paths:
        shown = {as_text(redactor.redacted(path) if redactor else path): path for path in wanted}
        named = {path if path in wanted else shown.get(path, "") for path in paths}
        if not named <= wanted.keys():
            raise NotChanged(field="paths")
        wanted = {path: wanted[path] for path in named}
    history = history_of(workspace)
    last = last_look(session, history)
    left = _put_back(wanted.values(), workspace, history, last.snapshot.files if last else {})
    if (undone := record_locked(session, workspace, tool=WorkspaceChange.UNDO, told=False)) is None:
        raise NothingToPutBack()
    return Undone(change=undone, left=left)


def first_changes(session: Session, *, from_change: int = 0, from_seq: int = 0) -> dict[str, FileChange]:
    """By path, the first change of each file from then on: it knows what the file held before."""
    rows = FileChange.objects.filter(change__session=session, change__pk__gte=from_change, change__seq__gte=from_seq)
    found: dict[str, FileChange] = {}
    for row in rows.order_by("change_id", "pk").iterator():
        found.setdefault(row.path, row)
    return found


def _put_back(
    rows: Collection[FileChange], workspace: Workspace, history: FileHistory, now: Mapping[str, FileState]
) -> list[str]:
    """Makes files what they were before each of these changes, where they are not so `now`; returns what is not so.

    A content that was not kept may have moved to another path. So a file of its size, which is not kept either, stays.
    """
    lost_sizes = {row.before_size for row in rows if row.before_mode is not None and not row.before_sha256}
    left = []
    for row in sorted(
        rows, key=lambda row: (row.before_mode is not None, row.path)
    ):  # a file may be where a folder was
        state = now.get(row.path)
        try:
            if state and not state.sha256 and state.size in lost_sizes:
                left.append(row.path)
            elif row.before_mode is None:
                workspace.delete_emptied(row.path)
            elif not row.before_sha256:
                left.append(row.path)
            elif not _is_already(row, state):
                content = history.content(row.before_sha256).read_bytes()
                workspace.put_back(row.path, content, row.before_mode)
        except (ToolError, FileNotFoundError):
            left.append(row.path)
    return left


@dataclass(frozen=True, kw_only=True)
class ForkedFiles:
    """`newer` are paths whose content then was not kept; `begins_later` says so of all that has changed by a certain
    entry: the history does not go back to then.
    """

    newer: Sequence[str] = ()
    begins_later: bool = False


def fork_files(origin: Session, seq: int, target: Workspace) -> ForkedFiles:
    """Makes a copy of today's files what the files were at the entry `seq`, as far as that is known.

    At the newest entry that is what they are now.
    """
    workspace = workspace_of(origin)
    history = history_of(workspace)
    if seq >= newest_entry(origin):
        return ForkedFiles()
    if (last := last_look(origin, history)) is None:
        return ForkedFiles(begins_later=seq < first_entry(origin))
    rows = first_changes(origin, from_seq=seq)
    for found in differences(last.snapshot, history.taken(workspace.opened(), last.snapshot)):  # by what runs just now
        rows.setdefault(found.path, row_of(None, *found))
    return ForkedFiles(newer=_put_back(rows.values(), target, history, {}), begins_later=seq < last.since)


def diff_of(row: FileChange, redactor: Redactor) -> str:
    """A unified diff of a text, as people may see it; empty for other files, and where a content is not kept.

    Secrets are redacted before lines are cut: a half of one is not found any more.
    """
    texts = []
    for mode, sha256 in ((row.before_mode, row.before_sha256), (row.after_mode, row.after_sha256)):
        data = _content(row.change.session, mode, sha256)
        encoding = None if data is None else encoding_of(data)
        if data is None or encoding is None:
            return ""
        texts.append(redactor.redacted(encoding.readable(data)))
    return diff.unified(texts[0], texts[1], redactor.redacted(row.path))


def _content(session: Session, mode: int | None, sha256: str) -> bytes | None:
    """Nothing of a file that was not there; None of a content that is not kept."""
    if mode is None:
        return b""
    try:
        return (session.history_path / sha256).read_bytes() if sha256 else None
    except FileNotFoundError:
        return None


def _is_already(row: FileChange, now: FileState | None) -> bool:
    return now is not None and (now.mode, now.sha256) == (row.before_mode, row.before_sha256)
