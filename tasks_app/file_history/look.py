"""A look at the workspace: what has changed since the last one is a change.

That of a call is stored with the call's result; any other in a transaction of its own. The snapshot is written after
that, so a crash between the two loses nothing: changes that are newer than it are applied to it when it is loaded.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Min, Sum
from django.utils import timezone

from llm_app.types import ToolCall
from tasks_app.models import CallStatus, FileChange, Session, Task, ToolCallLog, WorkspaceChange
from tools_app.errors import ToolError
from tools_app.files import (
    Difference,
    FileHistory,
    FileState,
    LastLook,
    Snapshot,
    Workspace,
    as_text,
    differences,
)

_FORGETS_EACH = 8  # so many changes of a session
_NAMED = 20  # paths in a sentence
logger = logging.getLogger(__name__)
_RAN = (CallStatus.SUCCEEDED, CallStatus.FAILED, CallStatus.INTERRUPTED, CallStatus.UNKNOWN)


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
    """Stores what has changed since the last look; None if nothing has, and at the first look, which it makes.

    `only` limits it to these files and folders. Reads the changed files: call it on no event loop, in no transaction.
    """
    with history_of(workspace).locked():
        return record_locked(session, workspace, only, tool=tool, task=task, call_id=call_id, told=told)


def record_locked(
    session: Session, workspace: Workspace, only: Collection[str] = (), **about: Any
) -> WorkspaceChange | None:
    """`record`, for callers that hold the history's lock. `about` are fields of the change."""
    history = history_of(workspace)
    if (stored := history.load()) is None:
        history.save(LastLook(snapshot=history.taken(workspace.opened(), Snapshot()), since=first_entry(session)))
        return None
    while True:
        last = with_newer_changes(session, stored)
        before = last.snapshot
        now = history.taken(workspace.opened(), before)
        if only:
            now = replace(before, files=_limited(before, now, only))
        if not (found := differences(before, now)):
            change = None
            break
        with transaction.atomic():
            seq = _lock(session)
            if not session.changes.filter(pk__gt=last.change).exists():  # else a call's change came while we looked
                change = _change_of(session, found, seq=seq, **about)
                change.save()
                # For search, the newest entry is taken up once more, with the names of these files.
                indexed = Session.objects.filter(pk=session.pk, indexed_seq__gte=max(seq, 1))
                indexed.update(indexed_seq=seq - 1)
                break
    if change and not change.told:
        history.mark_untold()
    newest = replace(last, snapshot=now, change=change.pk if change else last.change)
    if newest.change != stored.change or _shows_other_files(now, stored.snapshot):
        history.save(newest)
        if change or session.changes.count() % _FORGETS_EACH == 0:
            _forget_oldest(session, history, newest)
    return change


def _lock(session: Session) -> int:
    """Lock the session's row, as each commit of a task does, and return the number of the newest entry.

    So changes are numbered in the order in which they become visible.
    """
    locked = Session.objects.select_for_update(no_key=True).filter(pk=session.pk)
    return locked.values_list("last_seq", flat=True).get()


def _shows_other_files(now: Snapshot, stored: Snapshot) -> bool:
    return now.files != stored.files or now.left_out != stored.left_out


def record_before(task: Task, workspace: Workspace) -> None:
    """Store what has changed since the last call: no call has done it."""
    try:
        record(task.session, workspace, task=task)
    except (OSError, ToolError):  # a full disk, a folder that is a link by now: the work goes on without a history
        logger.exception("the files of session %s have no history", task.session_id)


def record_call(task: Task, workspace: Workspace, call: ToolCall, seq: int) -> list[WorkspaceChange]:
    """Return the change that the call has made since the last look, if any, while `seq` was the newest entry.

    It is for the transaction of the result: without it, the next look finds it again.
    """
    history = history_of(workspace)
    try:
        with history.locked():
            last = last_look(task.session, history)
            found = differences(last.snapshot, history.taken(workspace.opened(), last.snapshot)) if last else []
    except (OSError, ToolError):
        logger.exception("the files of session %s have no history of %s", task.session_id, call.name)
        return []
    about = {"seq": seq, "task": task, "tool": call.name, "call_id": call.id}
    return [_change_of(task.session, found, **about)] if found else []


def so_far(changes: Iterable[WorkspaceChange]) -> list[str]:
    """A line that names the files which a call had changed when it ended early, if there are any.

    The changes are not stored yet.
    """
    rows = [row for change in changes for row in change.unsaved]
    words = [f"{as_text(row.path)} ({_deed(row)})" for row in rows[:_NAMED]]
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return [f"[files that it had changed by then: {', '.join(words)}{more}]"] if rows else []


def _deed(row: FileChange) -> str:
    return "new" if row.before_mode is None else "deleted" if row.after_mode is None else "changed"


def look_first(session: Session, workspace: Workspace) -> None:
    """Before files are changed: without it, nobody would know later what they held."""
    if history_of(workspace).load() is None:
        record(session, workspace)


def history_of(workspace: Workspace) -> FileHistory:
    assert workspace.history is not None
    return workspace.history


def last_look(session: Session, history: FileHistory) -> LastLook | None:
    """Return the stored snapshot with the changes that are newer than it; None before the first look."""
    stored = history.load()
    return with_newer_changes(session, stored) if stored else None


def with_newer_changes(session: Session, last: LastLook) -> LastLook:
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


def _change_of(session: Session, found: Sequence[Difference], **about: Any) -> WorkspaceChange:
    change = WorkspaceChange(session=session, **about)
    change.unsaved = [row_of(change, *difference) for difference in found]
    return change


def newest_entry(session: Session) -> int:
    return Session.objects.values_list("last_seq", flat=True).filter(pk=session.pk).first() or 0


def first_entry(session: Session) -> int:
    """From which entry on the files are known: in a session whose calls ran before anybody looked, from now on."""
    ran = ToolCallLog.objects.filter(session_id=session.pk, status__in=_RAN).exclude(danger="safe")
    return newest_entry(session) if ran.exists() else 0


def _forget_oldest(session: Session, history: FileHistory, look: LastLook) -> None:
    """Within the bounds on number, age and bytes. The newest change always fits: all files together have half of it."""
    bounds, changes = history.bounds, WorkspaceChange.objects.filter(session=session)
    oldest = timezone.now() - timedelta(days=bounds.days)
    held = {state.sha256: state.size for state in look.snapshot.files.values()}
    now = sum(held.values())
    size = Sum("files__before_size")
    all_of = changes.aggregate(count=Count("pk", distinct=True), first=Min("created_at"), bytes=size)
    few = all_of["count"] <= bounds.changes and (all_of["bytes"] or 0) + now <= bounds.size
    if not all_of["count"] or (few and all_of["first"] >= oldest):
        return
    kept = held
    for number, change in enumerate(changes.prefetch_related("files"), 1):
        with_it = kept | {row.before_sha256: row.before_size for row in change.files.all()}
        is_too_old = number > bounds.changes or change.created_at < oldest
        if is_too_old or _bytes(with_it) > bounds.size:
            changes.filter(pk__lte=change.pk).delete()
            history.save(replace(look, since=max(look.since, change.seq + 1)))
            break
        kept = with_it
    history.forget_all_but(kept.keys())


def _bytes(contents: dict[str, int]) -> int:
    return sum(size for sha256, size in contents.items() if sha256)
