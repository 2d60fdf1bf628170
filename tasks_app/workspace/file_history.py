"""The history of a session's files: the changes between two scans of the workspace, and their undo.

A call's change is stored with the call's result, other changes in their own transactions. The snapshot is saved
afterwards. A crash in between loses nothing: loading a snapshot applies newer changes to it.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from llm_app.redaction import Redactor
from llm_app.types import ToolCall
from tasks_app.models import CallStatus, FileChange, Session, Task, ToolCallLog, WorkspaceChange
from tasks_app.models.errors import Refusal, TaskRunning
from tasks_app.runtime import broadcast
from tasks_app.workspace.folders import workspace_of
from tools_app.editing import diff
from tools_app.errors import ToolError
from tools_app.files import (
    Difference,
    FileHistory,
    FileState,
    HistoryState,
    Snapshot,
    Workspace,
    as_text,
    detect_encoding,
    differences,
)

_CLEANUP_INTERVAL = 8  # changes between two clean-ups
_MAX_LISTED_PATHS = 20  # paths per sentence
logger = logging.getLogger(__name__)
_EXECUTED = (CallStatus.SUCCEEDED, CallStatus.FAILED, CallStatus.INTERRUPTED, CallStatus.UNKNOWN)


def record(
    session: Session,
    workspace: Workspace,
    *,
    tool: str = "",
    task: Task | None = None,
    call_id: str = "",
    only: Collection[str] = (),
    told: bool = True,
) -> WorkspaceChange | None:
    """Store the changes since the last scan, if any. The first scan only takes a snapshot.

    `only` limits the changes to these files and folders. Reads the changed files: never call it on an event loop or in
    a transaction.
    """
    with history_of(workspace).locked():
        return record_locked(session, workspace, only, tool=tool, task=task, call_id=call_id, told=told)


def record_locked(
    session: Session, workspace: Workspace, only: Collection[str] = (), **fields: Any
) -> WorkspaceChange | None:
    """Do the work of `record` for callers that hold the history's lock. `fields` are those of the change."""
    history = history_of(workspace)
    if (stored := history.load()) is None:
        first_snapshot = history.take_snapshot(workspace.open_root(), Snapshot())
        history.save(HistoryState(snapshot=first_snapshot, since=first_known_seq(session)))
        return None
    while True:
        last = with_newer_changes(session, stored)
        before = last.snapshot
        current = history.take_snapshot(workspace.open_root(), before)
        if only:
            current = replace(before, files=_limited_to(before, current, only))
        if not (file_differences := differences(before, current)):
            change = None
            break
        with transaction.atomic():
            # The lock, which each commit of a task takes, numbers changes in the order in which they become visible.
            locked = Session.objects.select_for_update(no_key=True).filter(pk=session.pk)
            seq = locked.values_list("last_seq", flat=True).get()
            # Scan again if a call's change was stored during the scan.
            if not session.changes.filter(pk__gt=last.change).exists():
                change = _change_of(session, file_differences, seq=seq, **fields)
                change.save()
                # Search indexes the newest entry again, with the names of these files.
                indexed = Session.objects.filter(pk=session.pk, indexed_seq__gte=max(seq, 1))
                indexed.update(indexed_seq=seq - 1)
                break
    if change and not change.told:
        history.mark_unreported()
    latest = replace(last, snapshot=current, change=change.pk if change else last.change)
    has_new_files = current.files != stored.snapshot.files or current.left_out != stored.snapshot.left_out
    if latest.change != stored.change or has_new_files:
        history.save(latest)
        if change or session.changes.count() % _CLEANUP_INTERVAL == 0:
            _delete_oldest(session, history, latest)
    return change


def record_before(task: Task, workspace: Workspace) -> None:
    """Store changes since the last call, which no call has made."""
    try:
        record(task.session, workspace, task=task)
    except (OSError, ToolError):  # e.g. a full disk, or a folder replaced by a link
        logger.exception("could not record file changes of session %s (the task continues)", task.session_id)


def record_call(task: Task, workspace: Workspace, call: ToolCall, seq: int) -> list[WorkspaceChange]:
    """Return the unsaved change of a call, if any, made while `seq` was the newest entry.

    The transaction of the result saves it. If that fails, the next scan finds the change again.
    """
    history = history_of(workspace)
    try:
        with history.locked():
            last = latest_snapshot(task.session, history)
            file_differences = (
                differences(last.snapshot, history.take_snapshot(workspace.open_root(), last.snapshot)) if last else []
            )
    except (OSError, ToolError):
        logger.exception(
            "could not record file changes of session %s by %s (the task continues)", task.session_id, call.name
        )
        return []
    fields = {"seq": seq, "task": task, "tool": call.name, "call_id": call.id}
    return [_change_of(task.session, file_differences, **fields)] if file_differences else []


def changed_files_note(changes: Iterable[WorkspaceChange]) -> list[str]:
    """Return a line that names the files changed by a call that ended early, or no line. The changes are unsaved."""
    rows = [row for change in changes for row in change.unsaved]
    descriptions = []
    for row in rows[:_MAX_LISTED_PATHS]:
        word = "new" if row.before_mode is None else "deleted" if row.after_mode is None else "changed"
        descriptions.append(f"{as_text(row.path)} ({word})")
    more = f" and {len(rows) - _MAX_LISTED_PATHS} more" if len(rows) > _MAX_LISTED_PATHS else ""
    return [f"[files that it had changed by then: {', '.join(descriptions)}{more}]"] if rows else []


def ensure_snapshot(session: Session, workspace: Workspace) -> None:
    """Scan before the first change of files, to keep their earlier contents."""
    if history_of(workspace).load() is None:
        record(session, workspace)


def history_of(workspace: Workspace) -> FileHistory:
    assert workspace.history is not None
    return workspace.history


def latest_snapshot(session: Session, history: FileHistory) -> HistoryState | None:
    """Return the stored snapshot with newer changes applied, or None before the first scan."""
    stored = history.load()
    return with_newer_changes(session, stored) if stored else None


def with_newer_changes(session: Session, last: HistoryState) -> HistoryState:
    newer = FileChange.objects.filter(change__session=session, change__pk__gt=last.change)
    if not (rows := list(newer.order_by("change_id", "pk"))):
        return last
    files = dict(last.snapshot.files)
    for row in rows:
        files.pop(row.path, None)
        if row.after_mode is not None:
            files[row.path] = FileState(row.after_mode, row.after_size, 0, 0, row.after_sha256)
    return replace(last, snapshot=replace(last.snapshot, files=files), change=rows[-1].change_id)


def _limited_to(before: Snapshot, current: Snapshot, only: Collection[str]) -> dict[str, FileState]:
    """Return the files of `before`, with these files and folders as they are in `current`."""
    prefixes = tuple(f"{path}/" for path in only)
    files = {path: state for path, state in before.files.items() if path not in only and not path.startswith(prefixes)}
    return files | {path: state for path, state in current.files.items() if path in only or path.startswith(prefixes)}


def row_of(change: WorkspaceChange | None, path: str, before: FileState | None, after: FileState | None) -> FileChange:
    row = FileChange(change=change, path=path)
    if before:
        row.before_mode, row.before_size, row.before_sha256 = before.mode, before.size, before.sha256
    if after:
        row.after_mode, row.after_size, row.after_sha256 = after.mode, after.size, after.sha256
    return row


def _change_of(session: Session, file_differences: Sequence[Difference], **fields: Any) -> WorkspaceChange:
    change = WorkspaceChange(session=session, **fields)
    change.unsaved = [row_of(change, *difference) for difference in file_differences]
    return change


def newest_seq(session: Session) -> int:
    return Session.objects.values_list("last_seq", flat=True).filter(pk=session.pk).first() or 0


def first_known_seq(session: Session) -> int:
    """Return the entry from which files are known: 0, or the newest if calls ran before the first scan."""
    executed = ToolCallLog.objects.filter(session_id=session.pk, status__in=_EXECUTED).exclude(danger="safe")
    return newest_seq(session) if executed.exists() else 0


def _delete_oldest(session: Session, history: FileHistory, last: HistoryState) -> None:
    """Delete changes beyond the bounds on number, age and bytes.

    The newest change always fits, because the current files use at most half of the bytes.
    """
    bounds, changes = history.bounds, WorkspaceChange.objects.filter(session=session)
    oldest = timezone.now() - timedelta(days=bounds.days)
    current_sizes = {state.sha256: state.size for state in last.snapshot.files.values()}
    current_bytes = sum(current_sizes.values())
    size = Sum("files__before_size")
    totals = changes.aggregate(count=Count("pk", distinct=True), first=Min("created_at"), bytes=size)
    is_within_bounds = totals["count"] <= bounds.changes and (totals["bytes"] or 0) + current_bytes <= bounds.size
    if not totals["count"] or (is_within_bounds and totals["first"] >= oldest):
        return
    sizes = current_sizes
    for number, change in enumerate(changes.prefetch_related("files"), 1):
        sizes_with_change = sizes | {row.before_sha256: row.before_size for row in change.files.all()}
        bytes_with_change = sum(size for sha256, size in sizes_with_change.items() if sha256)
        if number > bounds.changes or change.created_at < oldest or bytes_with_change > bounds.size:
            changes.filter(pk__lte=change.pk).delete()
            history.save(replace(last, since=max(last.since, change.seq + 1)))
            break
        sizes = sizes_with_change
    history.delete_unused(sizes.keys())


class NothingToPutBack(Refusal):
    """There is nothing to put back: these files are as they were before this call, or their content was not kept."""


class NotChanged(Refusal):
    """This file was not changed by this call or a later one. Take one of the paths of the change."""

    status = 422


@dataclass(frozen=True, kw_only=True)
class UndoResult:
    """An undo: `change` is the undo itself, which can also be undone. `unrestored` are paths that still differ."""

    change: WorkspaceChange
    unrestored: Sequence[str] = ()


def undo(change: WorkspaceChange, paths: Collection[str] = (), redactor: Redactor | None = None) -> UndoResult:
    """Restore files to their state before the change: all files changed by it or later, or only `paths`.

    Paths may be written as `redactor` shows them. A task that starts now scans the files before its first call that
    can change them, and so waits for the lock. Raises TaskRunning, NotChanged, NothingToPutBack.
    """
    workspace = workspace_of(change.session)
    root = change.session.root_id or change.session.pk
    in_workspace = Q(session=root) | Q(session__root=root)  # delegated tasks work in its subfolders
    with history_of(workspace).locked():
        if Task.objects.runnable().filter(in_workspace).exists():
            raise TaskRunning()
        undo_result = _undo(change, workspace, paths, redactor)
    broadcast.files_changed(change.session)
    return undo_result


def _undo(
    change: WorkspaceChange, workspace: Workspace, paths: Collection[str], redactor: Redactor | None
) -> UndoResult:
    session = change.session
    record_locked(session, workspace)  # keep changes since the last scan
    first_by_path = first_changes(session, from_change=change.pk)
    if paths:
        paths_by_display = {as_text(redactor.redacted(path) if redactor else path): path for path in first_by_path}
        chosen_paths = {path if path in first_by_path else paths_by_display.get(path, "") for path in paths}
        if not chosen_paths <= first_by_path.keys():
            raise NotChanged(field="paths")
        first_by_path = {path: first_by_path[path] for path in chosen_paths}
    history = history_of(workspace)
    last = latest_snapshot(session, history)
    unrestored = _restore(first_by_path.values(), workspace, history, last.snapshot.files if last else {})
    if (undo_change := record_locked(session, workspace, tool=WorkspaceChange.UNDO, told=False)) is None:
        raise NothingToPutBack()
    return UndoResult(change=undo_change, unrestored=unrestored)


def first_changes(session: Session, *, from_change: int = 0, from_seq: int = 0) -> dict[str, FileChange]:
    """Return, by path, each file's first change from then on, which has its earlier content."""
    rows = FileChange.objects.filter(change__session=session, change__pk__gte=from_change, change__seq__gte=from_seq)
    changes: dict[str, FileChange] = {}
    for row in rows.order_by("change_id", "pk").iterator():
        changes.setdefault(row.path, row)
    return changes


def _restore(
    rows: Collection[FileChange], workspace: Workspace, history: FileHistory, current: Mapping[str, FileState]
) -> list[str]:
    """Restore `current` files to their state before these changes. Return paths that could not be restored.

    A file whose content was not kept may have moved to another path. Therefore a file of that size without stored
    content is left in place.
    """
    lost_sizes = {row.before_size for row in rows if row.before_mode is not None and not row.before_sha256}
    unrestored = []
    # Deletions first: a file may have replaced a folder.
    for row in sorted(rows, key=lambda row: (row.before_mode is not None, row.path)):
        state = current.get(row.path)
        try:
            if state and not state.sha256 and state.size in lost_sizes:
                unrestored.append(row.path)
            elif row.before_mode is None:
                workspace.delete_with_empty_parents(row.path)
            elif not row.before_sha256:
                unrestored.append(row.path)
            elif state is None or (state.mode, state.sha256) != (row.before_mode, row.before_sha256):
                content = history.content_path(row.before_sha256).read_bytes()
                workspace.restore(row.path, content, row.before_mode)
        except (ToolError, FileNotFoundError):
            unrestored.append(row.path)
    return unrestored


@dataclass(frozen=True, kw_only=True)
class ForkedFiles:
    """The result of restoring files in a fork.

    `newer` are paths whose content at that time was not kept. `begins_later` says that the history does not go back to
    the requested entry.
    """

    newer: Sequence[str] = ()
    begins_later: bool = False


def fork_files(origin: Session, seq: int, target: Workspace) -> ForkedFiles:
    """Change a copy of the current files to their state at the entry `seq`, as far as it is known.

    At the newest entry, nothing changes.
    """
    workspace = workspace_of(origin)
    history = history_of(workspace)
    if seq >= newest_seq(origin):
        return ForkedFiles()
    if (last := latest_snapshot(origin, history)) is None:
        return ForkedFiles(begins_later=seq < first_known_seq(origin))
    rows = first_changes(origin, from_seq=seq)
    current = history.take_snapshot(workspace.open_root(), last.snapshot)
    for difference in differences(last.snapshot, current):  # changes by running programs
        rows.setdefault(difference.path, row_of(None, *difference))
    return ForkedFiles(newer=_restore(rows.values(), target, history, {}), begins_later=seq < last.since)


def diff_of(row: FileChange, redactor: Redactor) -> str:
    """Return a redacted unified diff of a text file, or "" for other files and contents that were not kept.

    Redact before lines are cut: a truncated secret would not be found.
    """
    texts = []
    for mode, sha256 in ((row.before_mode, row.before_sha256), (row.after_mode, row.after_sha256)):
        data = _content(row.change.session, mode, sha256)
        encoding = None if data is None else detect_encoding(data)
        if data is None or encoding is None:
            return ""
        texts.append(redactor.redacted(encoding.readable(data)))
    return diff.unified(texts[0], texts[1], redactor.redacted(row.path))


def _content(session: Session, mode: int | None, sha256: str) -> bytes | None:
    """Return a stored content: empty for a file that did not exist, None if it was not kept."""
    if mode is None:
        return b""
    try:
        return (session.history_path / sha256).read_bytes() if sha256 else None
    except FileNotFoundError:
        return None
