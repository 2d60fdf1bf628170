"""The start of the next task when one ends, in the same transaction, and the tasks that wait for a person."""

from functools import partial
from pathlib import PurePosixPath
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from llm_app.sql import cached_sql, execute, fetch_all, save
from tasks_app.models import Approval, ContextEntry, ContextType, InboxMessage, Session, Task, WaitingFor
from tasks_app.record import Draft, StoredPicture, append_entries
from tasks_app.runtime import broadcast
from tasks_app.runtime.wakeup import wake
from tasks_app.workspace.folders import files_of
from tools_app.documents import kind_by_name

LONGEST_TITLE = 60  # characters of an automatic title


def start_next(session: Session, task: Task, *, stopped: bool) -> None:
    """Start the next task of a session from its inbox, after `task` has ended.

    The first message starts it, and later ones keep waiting. Messages of closed accounts, and of people who can no
    longer write here, stay in the inbox. Messages queued before a stop are appended but start no task, even if the task
    ended before the stop took effect; later ones do.
    """
    if stopped:
        stop = Task.objects.values_list("stop_requested_at", flat=True).get(pk=task.pk)
        waiting = InboxMessage.objects.waiting_in(session).select_related("author")
        if earlier := list(waiting.filter(created_at__lte=stop)):
            deliver(session, task, earlier)
    for message in InboxMessage.objects.startable_in(session.pk):
        if Session.objects.find_writable(message.author, session.pk):
            start(session, message)
            break


def start(session: Session, message: InboxMessage, *, max_iterations: int | None = None, terminal: str = "") -> Task:
    """Create a task for a message of the inbox, and wake it."""
    task = Task(
        session=session,
        started_by=message.author,
        max_iterations=max_iterations,
        terminal=terminal,
        output_schema=message.output_schema,
        workflow=message.workflow.definition() if message.workflow else {},
    )
    execute([save(task)])
    deliver(session, task, [message])
    transaction.on_commit(partial(broadcast.state_changed, task))
    wake(task.id)
    return task


def deliver(session: Session, task: Task, messages: list[InboxMessage]) -> list[ContextEntry]:
    """Append messages of the inbox as entries of `task`."""
    entries = append_entries(session, task, [user_message(message) for message in messages])
    for message, entry in zip(messages, entries, strict=True):
        task.add_author(message.author)
        message.delivered_seq = entry.seq
        execute([save(message, ("delivered_seq",))])
    transaction.on_commit(partial(broadcast.inbox_changed, session))
    return entries


def user_message(message: InboxMessage) -> Draft:
    return Draft(
        context_type=ContextType.USER_MESSAGE,
        content=with_files(message),
        images=[StoredPicture(**image) for image in message.images],
        metadata={"author": message.author.get_username(), "attachments": message.attachments},
    )


def title_of(text: str) -> str:
    """Return the beginning of a message as a session's title."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def with_files(message: InboxMessage) -> str:
    """Return a person's words as a model reads them, with their attached files and how to read those."""
    lines = []
    for path in message.attachments:
        kind = kind_by_name(path)
        how_to_read = f", {kind}: read it with the tool file, page by page" if kind else ""
        lines.append(f"[attached file: {path}{how_to_read}{_about_earlier(message.session, path)}]")
    return "\n".join([message.content, "", *lines]) if lines else message.content


def _about_earlier(session: Session, path: str) -> str:
    """Return a remark on the earlier file if one of the same name got a number when it was uploaded, or ""."""
    file = PurePosixPath(path)
    stem, _, number = file.stem.rpartition("-")
    if not stem or not number.isdecimal() or int(number[:9]) < 2:
        return ""
    earlier = f"{stem}{file.suffix}" if int(number) == 2 else f"{stem}-{int(number) - 1}{file.suffix}"
    is_kept = files_of(session).is_file(earlier)
    return f" (newer than the earlier {earlier}, which is kept unchanged under that name)" if is_kept else ""


def tasks_waiting_for(user: Any) -> QuerySet[Task]:
    """Return tasks with a question where the user can write, or with a call that they can approve.

    The longest wait comes first. The latter include tasks of sessions that the user cannot see: they are allowed to see
    only the call.
    """
    # Few tasks wait, so the query starts from them instead of from sessions and calls.
    writable = Exists(Session.objects.writable_by(user).filter(pk=OuterRef("session")))
    decidable = Exists(Approval.objects.decidable_by(user).filter(tool_call__task=OuterRef("pk")))
    waiting = Task.objects.filter(waiting_for__isnull=False)
    return waiting.filter((Q(waiting_for=WaitingFor.REPLY) & writable) | decidable).order_by("session__updated_at")


@cached_sql
def all_waiting_for(user: Any) -> list[Task]:
    """Return these tasks with their sessions and the sessions' owners."""
    return fetch_all(tasks_waiting_for(user).select_related("session__owner"))


def count_waiting_for(user: Any) -> int:
    """Return the number of questions and approvals that wait for the user, which each page shows."""
    return len(_keys_waiting_for(user))


@cached_sql
def _keys_waiting_for(user: Any) -> list[Any]:
    return fetch_all(tasks_waiting_for(user).order_by().values_list("pk", flat=True))
