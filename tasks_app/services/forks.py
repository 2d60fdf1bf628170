"""Forks: new sessions with a copy of the record up to an entry, and the files of that time."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone

from llm_app.models import LogicalModel
from llm_app.types import ToolCall
from tasks_app import services
from tasks_app.models import (
    Agent,
    CallStatus,
    ContextEntry,
    ContextType,
    FailureCode,
    Limits,
    Project,
    Session,
    Task,
    TaskState,
    Workflow,
)
from tasks_app.models.errors import FilesQuotaFull, Refusal
from tasks_app.record import Draft, StoredPicture, append_entries, notice, redact_entries, redactor_of, thinking_of
from tasks_app.record.draft import result
from tasks_app.record.item import Item
from tasks_app.run import reminders
from tasks_app.services.sessions import require_quota
from tasks_app.workspace import file_history
from tasks_app.workspace.folders import check_space, update_usage, used_bytes, workspace_of
from tools_app.files import workspace_copy

NOT_RUN = "Not run: forked here."
_HISTORY_TOO_SHORT = (
    " The file history does not go back to this entry: the files are from the oldest state that it knows."
)
# Fields that are not copied. All others are, such as the model and denied tools.
_UNCOPIED_FIELDS = {
    "id",
    "owner_id",
    "parent_id",
    "parent_seq",
    "root_id",
    "folder",
    "workdir",
    "summary",
    "next_steps",
    "last_seq",
    "chain_head",
    "files_bytes",
}
_UNCOPIED_METADATA = ("llm_call", "stream")  # metadata that is not copied: no LLM call produced the copy
_UNCOPIED_FIELDS |= {"held_by", "held", "indexed_seq", "created_at", "updated_at"}


class NoSuchEntry(Refusal):
    """This session has no such entry. Take the seq of one of its entries."""

    status = 422


class NoMessage(Refusal):
    """There is no message of a person before this entry that could be sent again."""


def fork(origin: Session, seq: int, owner: Any, *, files_at: int | None = None) -> Session:
    """Create a session of `owner` with the entries of `origin` up to `seq` (0: none), and the files of that time.

    `files_at` names another entry for the files. `owner` must be able to see `origin`, which does not change. The copy
    is redacted with the current secrets of `origin` and of the owner. Raises SessionsQuotaFull, NoSuchEntry, DiskFull,
    FilesQuotaFull and ToolError.
    """
    with prepare(origin, seq, owner, files_at=files_at) as store:
        return store()


@contextmanager
def prepare(origin: Session, seq: int, owner: Any, *, files_at: int | None = None) -> Iterator[Callable[[], Session]]:
    """Copy the files, and yield the function that stores the fork: copying may take too long for a transaction.

    If the fork is not stored, its files are deleted. Raises what `fork` raises.
    """
    require_quota(owner)
    entries = list(ContextEntry.objects.in_session(origin).filter(seq__lte=seq).select_related("task"))
    if seq != (entries[-1].seq if entries else 0):
        raise NoSuchEntry(field="seq")
    copy = _copy_session(origin, seq, owner, entries)
    check_space(copy)
    try:
        left_out = workspace_copy.copy(workspace_of(origin), workspace_of(copy))
        files = file_history.fork_files(origin, seq if files_at is None else files_at, workspace_of(copy))
        note = _HISTORY_TOO_SHORT if files.begins_later else ""
        fork_reminder = reminders.forked(left_out, files.newer, begins_later=files.begins_later)
        update_usage(copy)
        if used_bytes(copy.owner_id) + copy.files_bytes > Limits.current().user_bytes:
            raise FilesQuotaFull()
        yield partial(_store, origin, copy, entries, fork_reminder, note)
    finally:
        if not Session.objects.filter(pk=copy.pk).exists():
            shutil.rmtree(copy.workspace_path, ignore_errors=True)


def _store(origin: Session, copy: Session, entries: Sequence[ContextEntry], fork_reminder: Draft, note: str) -> Session:
    with transaction.atomic():
        copy.save(force_insert=True)
        _copy_record(origin, copy, entries, fork_reminder, note)
    return copy


def send_again(origin: Session, seq: int, author: Any, content: str = "") -> Session:
    """Fork before the last message of a person at or before `seq`, and send that message again.

    `content` replaces its text. Raises NoMessage, and what `fork` and `post_message` raise.
    """
    entries = ContextEntry.objects.in_session(origin).select_related("task")
    messages = entries.filter(seq__lte=seq, context_type=ContextType.USER_MESSAGE)
    if (last := messages.last()) is None:
        raise NoMessage()
    (message,) = redact_entries(origin, [last])
    copy = fork(origin, message.seq - 1, author, files_at=message.seq)  # including the message's own attachments
    item = Item(entry=message)
    schema = orjson.loads(message.task.output_schema or "null")
    workflow = Workflow.objects.usable().filter(name=message.task.workflow.get("name")).first()
    options: dict[str, Any] = {"attachments": item.attachments, "output_schema": schema, "workflow": workflow}
    try:
        services.post_message(copy, author, content or item.text, **options)
    except Exception:
        services.delete_session(copy)  # a fork without the message is useless
        raise
    return copy


def _copy_session(origin: Session, seq: int, owner: Any, entries: Sequence[ContextEntry]) -> Session:
    """Return an unsaved copy of the session, without a model or project that its owner may not use."""
    fields = {field.attname: getattr(origin, field.attname) for field in Session._meta.concrete_fields}
    copy = Session(**{name: value for name, value in fields.items() if name not in _UNCOPIED_FIELDS})
    copy.owner, copy.parent, copy.parent_seq = owner, origin, seq
    copy.left_out = [[first, min(last, seq)] for first, last in origin.left_out if first <= seq]
    if seq < origin.last_seq:
        copy.active_agent = _active_agent(entries)
    if not LogicalModel.objects.visible_to(owner.pk).filter(pk__in=[copy.model_id]).exists():
        copy.model = None
    if not Project.objects.writable_by(owner).filter(pk__in=[copy.project_id]).exists():
        copy.project = None
    return copy


def _active_agent(entries: Sequence[ContextEntry]) -> Agent | None:
    """Return the agent that has the conversation at the last entry, if it was handed on and not answered yet."""
    if not entries or (_is_answered(entries[-1].task) and _is_copied_whole(entries[-1].task, entries[-1].seq)):
        return None
    for entry in reversed(entries):
        if entry.task_id != entries[-1].task_id and _is_answered(entry.task):
            return None
        if entry.context_type == ContextType.HANDOFF:
            return Agent.objects.filter(name=entry.metadata["to"]).first()
    return None


def _copy_record(
    origin: Session, copy: Session, entries: Sequence[ContextEntry], fork_reminder: Draft, note: str
) -> None:
    secrets, redactor = redactor_of(origin), redactor_of(copy)
    drafts: list[Draft] = []
    for original, members in groupby(entries, key=lambda entry: entry.task):
        task = _copy_task(copy, original, entries[-1].seq)
        drafts = [_copy_draft(entry).redacted(secrets) for entry in members]
        append_entries(copy, task, drafts, redactor=redactor)
    if entries:
        text = f"Forked from “{origin.title or 'New session'}”.{note}"
        fork_notice = notice(text)
        if task.stopped:
            fork_notice = notice(f"{text} Write a message to go on.", code=FailureCode.STOPPED)
        append_entries(copy, task, [*_close_open_call(drafts), fork_reminder, fork_notice], redactor=redactor)


def _copy_task(copy: Session, original: Task, seq: int) -> Task:
    """Save a copy of the task: as it ended if all its entries are copied, else as stopped. It has no cost here."""
    task = Task(session=copy, started_by=copy.owner, ended_at=timezone.now())
    task.agent_version_id = original.agent_version_id
    if _is_copied_whole(original, seq):
        for name in ("state", "stopped", "failure_code", "failure_detail", "plan", "final_result"):
            setattr(task, name, getattr(original, name))
    else:
        task.state, task.final_result, task.stopped = TaskState.DONE, {}, True
    task.save()
    return task


def _is_answered(task: Task) -> bool:
    return task.state == TaskState.DONE and not task.is_cut_off


def _is_copied_whole(task: Task, seq: int) -> bool:
    """Return whether the task ended at this entry or before."""
    return not task.is_active and not task.entries.filter(seq__gt=seq).exists()


def _copy_draft(entry: ContextEntry) -> Draft:
    return Draft(
        context_type=ContextType(entry.context_type),
        content=entry.content,
        thinking=thinking_of(entry),
        tool_call=ToolCall(**entry.call) if entry.call else None,
        is_cut=entry.is_cut,
        tool_call_id=entry.tool_call_id,
        images=[StoredPicture(**picture) for picture in entry.pictures],
        metadata={name: value for name, value in entry.metadata.items() if name not in _UNCOPIED_METADATA},
        discarded=bool(entry.metadata.get("discarded")),
        given_role=entry.role if entry.context_type == ContextType.CLIENT_HISTORY else "",
    )


def _close_open_call(drafts: Sequence[Draft]) -> list[Draft]:
    """Return a rejected result for a call that the copy would leave open. The fork never runs the origin's call."""
    last_draft = next((draft for draft in reversed(drafts) if draft.in_context), None)
    if last_draft is None or last_draft.tool_call is None:
        return []
    rejected = result(last_draft.tool_call.id, NOT_RUN, CallStatus.REJECTED)
    return [rejected, *reminders.deferred(last_draft.metadata.get("deferred", ()))]
