"""The start of the next task when one ends, in the same transaction, and the tasks that wait for a person."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from llm_app.sql.composed_query import Select
from llm_app.sql.statements import execute, save
from tasks_app.models import Approval, ContextEntry, ContextType, InboxMessage, Session, Task, WaitingFor
from tasks_app.record import Draft, KeptPicture, append_entries
from tasks_app.runtime import broadcast
from tasks_app.runtime.wakeup import wake
from tools_app.documents.formats import kind_by_name

LONGEST_TITLE = 60  # characters of one that nobody chose
_waiting = Select(
    lambda session: InboxMessage.objects.waiting_in(session).filter(author__is_active=True).select_related("author")
)
_writable = Select(lambda user, pk: Session.objects.writable_by(user).filter(pk=pk).order_by().values_list("pk"))


def start_next(session: Session, task: Task, *, stopped: bool) -> None:
    """Looks into the inbox of a session whose `task` has just ended.

    The first message starts the next task, the others wait on, also those of closed accounts and of who may write here
    no more. After a stop, even too late a one, what waited then is appended and starts nothing; what came since does.
    """
    if stopped:
        stop = Task.objects.values_list("stop_requested_at", flat=True).get(pk=task.pk)
        waiting = InboxMessage.objects.waiting_in(session).select_related("author")
        if earlier := list(waiting.filter(created_at__lte=stop)):
            deliver(session, task, earlier)
    messages = _waiting.rows(session.pk)
    if message := next((one for one in messages if _writable.rows(one.author_id, session.pk)), None):
        start(session, message)


def start(session: Session, message: InboxMessage, *, max_iterations: int | None = None, terminal: str = "") -> Task:
    """A new task for a message of the inbox."""
    task = Task(
        session=session,
        started_by=message.author,
        max_iterations=max_iterations,
        terminal=terminal,
        output_schema=message.output_schema,
        workflow=message.workflow.laid_down() if message.workflow else {},
    )
    execute([save(task)])
    deliver(session, task, [message])
    transaction.on_commit(partial(broadcast.state_changed, task))
    wake(task.id)
    return task


def deliver(session: Session, task: Task, messages: list[InboxMessage]) -> list[ContextEntry]:
    """Appends messages of the inbox as entries of `task`."""
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
        content=with_files(message.content, message.attachments),
        images=[KeptPicture(**image) for image in message.images],
        metadata={"author": message.author.get_username(), "attachments": message.attachments},
    )


def title_of(words: str) -> str:
    """The beginning of a message, as a session is called by it."""
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1] + "…"


def with_files(words: str, attachments: Sequence[str]) -> str:
    """A person's words as a model reads them: with the files that they sent along, and how to read those."""
    files = "".join(f"\n[attached file: {path}{_how_to_read(path)}]" for path in attachments)
    return words + ("\n" + files if files else "")


def _how_to_read(path: str) -> str:
    kind = kind_by_name(path)
    return f", {kind}: read it with the tool file, page by page" if kind else ""


def tasks_waiting_for(user: Any) -> QuerySet[Task]:
    """Tasks with a question, where the user may write, or with a call that they may approve; the longest wait first.

    Among the latter are tasks of sessions that the user may not see: of those, they may know the call alone.
    """
    # Few tasks wait: each of them is looked at, not all sessions and calls.
    mine = Exists(Session.objects.writable_by(user).filter(pk=OuterRef("session")))
    to_decide = Exists(Approval.objects.decidable_by(user).filter(tool_call__task=OuterRef("pk")))
    waiting = Task.objects.filter(waiting_for__isnull=False)
    return waiting.filter((Q(waiting_for=WaitingFor.REPLY) & mine) | to_decide).order_by("session__updated_at")


def all_waiting_for(user: Any) -> list[Task]:
    """With their sessions, and the owners of these."""
    return _tasks_waiting.rows(user.pk)


def count_waiting_for(user: Any) -> int:
    """How many questions and approvals wait for the user: each page says it."""
    return len(_keys_waiting.rows(user.pk))


_tasks_waiting = Select(lambda user: tasks_waiting_for(user).select_related("session__owner"))
_keys_waiting = Select(lambda user: tasks_waiting_for(user).order_by().values_list("pk"))
