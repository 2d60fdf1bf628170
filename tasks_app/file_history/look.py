"""A look at the workspace: what has changed since the last one is stored as a change, in a transaction of its own.

It is a fact about files, whatever becomes of the call. The snapshot is written after it, so a crash between the two
loses nothing: changes that are newer than the snapshot are applied to it when it is loaded.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Min, Sum
from django.utils import timezone

from llm_app.types import ToolCall
from tasks_app.models import CallStatus, FileChange, Session, Task, ToolCallLog, WorkspaceChange
from tools_app.files import FileHistory, FileState, LastLook, Snapshot, Workspace, differences, take

logger = logging.getLogger(__name__)
_RAN = (CallStatus.SUCCEEDED, CallStatus.FAILED, CallStatus.INTERRUPTED, CallStatus.UNKNOWN)
_AT_ONCE = 500  # rows of files


def record(
    session: Session,
    workspace: Workspace,
    *,
    tool: str = "",
    call_id: str = "",
    task: Task | None = None,
    only: Collection[str] = (),
    told: bool = True,
) -> WorkspaceChange | None:
    """Stores what has changed since the last look; None if nothing has, and at the first look, which it makes.

    `only` limits it to these files and folders. Reads the changed files: call it on no event loop, in no transaction.
    """
    history = history_of(workspace)
    with history.locked():
        last = last_look(session, history)
        before = last.snapshot if last else Snapshot()
        now = take(workspace.root, before, history.keep)
        if only and last:
            now = replace(before, files=_limited(before, now, only))
        if last is None:
            history.save(LastLook(snapshot=now, since=_first_entry(session)))
            return None
        change = None
        if found := differences(before, now):
            about = {"task": task, "call_id": call_id, "tool": tool, "told": told}
            change = WorkspaceChange(session=session, seq=newest_entry(session), **about)
            _save(change, [row_of(change, *difference) for difference in found])
            last = replace(last, change=change.pk)
        if now.files != before.files or now.left_out != before.left_out:
            history.save(replace(last, snapshot=now))
        if change:
            _forget_oldest(session, history, replace(last, snapshot=now))
        return change


def record_call(task: Task, workspace: Workspace, call: ToolCall | None = None) -> None:
    """What has changed since the last look was done by the call; without one, by nobody's call."""
    name, call_id = (call.name, call.id) if call else ("", "")
    try:
        record(task.session, workspace, task=task, tool=name, call_id=call_id)
    except OSError:  # a full disk, above all: the work goes on without a history
        logger.exception("the files of session %s have no history of %s", task.session_id, name or "what ran on")


def look_first(session: Session, workspace: Workspace) -> None:
    """Before files are changed: without it, nobody would know later what they held."""
    if history_of(workspace).load() is None:
        record(session, workspace)


def history_of(workspace: Workspace) -> FileHistory:
    assert workspace.history is not None
    return workspace.history


def last_look(session: Session, history: FileHistory) -> LastLook | None:
    """The snapshot, with changes that were stored after it was written."""
    if (last := history.load()) is None:
        return None
    newer = FileChange.objects.filter(change__session=session, change__pk__gt=last.change)
    if not (rows := list(newer.order_by("change_id", "pk"))):
        return last
    files = dict(last.snapshot.files)
    for row in rows:
        files.pop(row.path, None)
        if row.after_mode is not None:
            files[row.path] = FileState(row.after_mode, row.after_size, 0, 0, row.after_sha256)
    return replace(last, snapshot=replace(last.snapshot, files=files), change=rows[-1].change_id)


def _limited(before: Snapshot, now: Snapshot, only: Collection[str]) -> dict[str, FileState]:
    """What was, but for these files and folders."""
    inside = tuple(f"{path}/" for path in only)
    files = {path: state for path, state in before.files.items() if path not in only and not path.startswith(inside)}
    return files | {path: state for path, state in now.files.items() if path in only or path.startswith(inside)}


def row_of(change: WorkspaceChange | None, path: str, before: FileState | None, after: FileState | None) -> FileChange:
    row = FileChange(change=change, path=path)
    if before:
        row.before_mode, row.before_size, row.before_sha256 = before.mode, before.size, before.sha256
    if after:
        row.after_mode, row.after_size, row.after_sha256 = after.mode, after.size, after.sha256
    return row


def _save(change: WorkspaceChange, rows: Sequence[FileChange]) -> None:
    with transaction.atomic():
        change.save(force_insert=True)
        FileChange.objects.bulk_create(rows, batch_size=_AT_ONCE)


def newest_entry(session: Session) -> int:
    return Session.objects.values_list("last_seq", flat=True).filter(pk=session.pk).first() or 0


def _first_entry(session: Session) -> int:
    """From which entry on the files are known: in a session whose calls ran before anybody looked, from now on."""
    ran = ToolCallLog.objects.filter(session_id=session.pk, status__in=_RAN).exclude(danger="safe")
    return newest_entry(session) if ran.exists() else 0


def _forget_oldest(session: Session, history: FileHistory, look: LastLook) -> None:
    """Within the bounds on number, age and bytes. The newest change always fits: all files together have half of it."""
    changes = WorkspaceChange.objects.filter(session=session)
    oldest = timezone.now() - timedelta(days=WorkspaceChange.MOST_DAYS)
    held = {state.sha256: state.size for state in look.snapshot.files.values()}
    now = sum(held.values())
    size = Sum("files__before_size")
    all_of = changes.aggregate(count=Count("pk", distinct=True), first=Min("created_at"), bytes=size)
    few = all_of["count"] <= WorkspaceChange.MOST and (all_of["bytes"] or 0) + now <= WorkspaceChange.MOST_BYTES
    if few and all_of["first"] >= oldest:
        return
    kept = held
    for number, change in enumerate(changes.prefetch_related("files"), 1):
        with_it = kept | {row.before_sha256: row.before_size for row in change.files.all()}
        is_too_old = number > WorkspaceChange.MOST or change.created_at < oldest
        if is_too_old or _bytes(with_it) > WorkspaceChange.MOST_BYTES:
            changes.filter(pk__lte=change.pk).delete()
            history.save(replace(look, since=max(look.since, change.seq + 1)))
            break
        kept = with_it
    history.forget_all_but(kept.keys())


def _bytes(contents: dict[str, int]) -> int:
    return sum(size for sha256, size in contents.items() if sha256)
