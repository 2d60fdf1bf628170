"""The verbs of people and programs. Views, REST and commands call the same ones; each is one short transaction."""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from llm_app.models import LogicalModel
from tasks_app import broadcast
from tasks_app.engine import pictures, record, succession, wakeup
from tasks_app.engine.capabilities import workspace_of
from tasks_app.engine.draft import Draft
from tasks_app.engine.open_call import OpenCall, pending_call
from tasks_app.engine.pictures import KeptPicture
from tasks_app.errors import InvalidMessage, MessageTooLong, NothingToAnswer, TaskRunning
from tasks_app.models import Approval, ContextEntry, InboxMessage, Session, Task
from tasks_app.models.approval import Decision, Scope
from tasks_app.models.inbox import Mode
from tasks_app.models.task import WaitingFor
from tasks_app.models.tool_call import CallStatus

LONGEST_MESSAGE = 1024 * 1024  # bytes
Delivery = Literal["started", "reply", "interjected", "queued"]


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """What became of a message. `task` is None for a queued one: its task does not exist yet."""

    task: Task | None
    delivered_as: Delivery


def create_session(owner: Any, *, title: str = "", model: LogicalModel | None = None, workdir: str = "") -> Session:
    return Session.objects.create(owner=owner, title=title, model=model, workdir=workdir)


def change_session(session: Session, **fields: Any) -> None:
    """Sets `title` or `model`, and no other column: those belong to whoever appends."""
    Session.objects.filter(pk=session.pk).update(**fields, updated_at=timezone.now())


def delete_session(session: Session) -> None:
    """Deletes a session with its record and, after the commit, its workspace. Raises TaskRunning."""
    folder = session.workspace_path
    with transaction.atomic():
        record.lock(session)
        if session.tasks.active().exists():
            raise TaskRunning()
        session.delete()
        if folder.exists() and not session.workdir:  # a folder that somebody named is theirs
            transaction.on_commit(partial(shutil.rmtree, folder), robust=True)


def post_message(
    session: Session,
    author: Any,
    content: str,
    *,
    attachments: Sequence[str] = (),
    mode: str = Mode.INTERJECT,
    max_iterations: int | None = None,
) -> Delivered:
    """Starts a task, answers its question, or waits in the inbox. Raises InvalidMessage or MessageTooLong."""
    content = _checked(content, attachments)
    images = pictures.of_attachments(workspace_of(session), attachments)  # before the lock: it takes its time
    with transaction.atomic():
        record.lock(session)
        task = session.tasks.active().first()
        if task is not None and task.waiting_for == WaitingFor.REPLY and mode == Mode.INTERJECT:
            _answer(task, author, succession.with_files(content, attachments), images=images)
            return Delivered(task=task, delivered_as="reply")
        message = InboxMessage.objects.create(
            session=session,
            author=author,
            mode=mode,
            content=content,
            attachments=list(attachments),
            images=[asdict(image) for image in images],
        )
        transaction.on_commit(lambda: broadcast.inbox_changed(session))
        if task is not None:
            return _keep(task, mode)
        _name(session, content)
        return Delivered(task=succession.start(session, message, max_iterations), delivered_as="started")


def _keep(task: Task, mode: str) -> Delivered:
    """The message waits in the inbox; an interjection reaches the task wherever it is."""
    if mode == Mode.QUEUE:
        return Delivered(task=None, delivered_as="queued")
    _rouse(task)
    return Delivered(task=task, delivered_as="interjected")


def reply(task: Task, author: Any, content: str, *, call_id: str = "") -> None:
    """Answers the question that a task waits with; a `call_id` says which one. Raises NothingToAnswer."""
    content = _checked(content, ())
    with transaction.atomic():
        record.lock(task.session)
        task.refresh_from_db()
        _answer(task, author, content, call_id)


def _answer(task: Task, author: Any, content: str, call_id: str = "", images: Sequence[KeptPicture] = ()) -> None:
    """The answer is the result of the open call, written by a person."""
    _resume(task, WaitingFor.REPLY)
    call = _open_call(task, call_id)
    call.log.status = CallStatus.SUCCEEDED
    call.log.save(update_fields=["status"])
    drafts = call.result(content, CallStatus.SUCCEEDED, images=images, author=author.get_username())
    record.append(task.session, task, drafts)


def decide(
    task: Task, author: Any, decision: str, *, note: str = "", scope: str = Scope.ONCE, call_id: str = ""
) -> None:
    """A person's word on the call that waits; a `call_id` says which one they saw. Raises NothingToAnswer."""
    with transaction.atomic():
        record.lock(task.session)
        task.refresh_from_db()
        _resume(task, WaitingFor.APPROVAL)
        call = _open_call(task, call_id)
        decided = Approval.objects.filter(tool_call=call.log, decision=Decision.PENDING).update(
            decision=decision, note=note, scope=scope, decided_by=author, decided_at=timezone.now()
        )
        if not decided:
            raise NothingToAnswer()
        if decision == Decision.REJECTED:
            call.log.status = CallStatus.REJECTED
            call.log.save(update_fields=["status"])
            record.append(task.session, task, _rejection(call, author, note))


def _rejection(call: Any, author: Any, note: str) -> list[Draft]:
    words = f"Not run: {author} rejected this call." + (f" They say: {note}" if note else "")
    drafts: list[Draft] = call.result(words, CallStatus.REJECTED, author=author.get_username())
    return drafts


def stop(task: Task) -> Task:
    """Ends a task, whatever it is doing; does nothing to one that has ended."""
    with transaction.atomic():
        record.lock(task.session)
        Task.objects.active().filter(pk=task.pk).update(stop_requested_at=timezone.now())
        task.refresh_from_db()
        if task.is_active:
            _rouse(task)
    return task


def _rouse(task: Task) -> None:
    """Makes a task look around now: it is interrupted if it runs, and woken if it waits."""
    if task.waiting_for:
        Task.objects.filter(pk=task.pk).update(waiting_for=None)
        wakeup.wake(task.pk)
    wakeup.interrupt(task.pk)


def _resume(task: Task, waiting_for: WaitingFor) -> None:
    """Exactly one answer ends a wait."""
    if not Task.objects.filter(pk=task.pk, waiting_for=waiting_for).update(waiting_for=None):
        raise NothingToAnswer()
    task.waiting_for = None
    transaction.on_commit(lambda: broadcast.state_changed(task))
    wakeup.wake(task.pk)


def _open_call(task: Task, call_id: str) -> OpenCall:
    """The call that waits. Whoever names another one saw an older page: what they meant is no longer asked."""
    entry = ContextEntry.objects.of(task.session).in_context().last()
    if entry is None or entry.call is None or call_id not in ("", entry.call["id"]):
        raise NothingToAnswer()
    return pending_call(entry)


def _name(session: Session, content: str) -> None:
    """A session without a title takes the beginning of its first message."""
    if not session.title:
        line = " ".join(content.split())
        session.title = line if len(line) <= 60 else line[:59] + "…"
        Session.objects.filter(pk=session.pk).update(title=session.title)


def _checked(content: str, attachments: Sequence[str]) -> str:
    content = record.storable(content)
    if len(content.encode()) > LONGEST_MESSAGE:
        raise MessageTooLong()
    if not content.strip() and not attachments:
        raise InvalidMessage(field="content")
    return content
