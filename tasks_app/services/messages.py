"""What people tell tasks: messages, answers, decisions, and the stop. Each verb is one short transaction."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from django.db import transaction

from llm_app.composed_query import Select
from llm_app.statements import Update, execute, save
from tasks_app.errors import (
    AgentWithheld,
    InvalidMessage,
    MayNotDecide,
    MessageRead,
    MessageTooLong,
    NothingToAnswer,
    OnlyThisCall,
    SchemaTooLate,
    WorkflowTooLate,
)
from tasks_app.events import broadcast
from tasks_app.interaction import approver, children, next_task, open_call
from tasks_app.interaction.decide import settle
from tasks_app.models import Agent, Approval, CallStatus, InboxMessage, Mode, Scope, Session, Task, WaitingFor, Workflow
from tasks_app.record import KeptPicture, append_entries, images, lock, redactor_of, storable
from tasks_app.record.append import storable_json
from tasks_app.runtime import admission, wakeup
from tasks_app.services.sessions import title_from
from tasks_app.workspaces import require_disk, workspace_of
from tools_app.errors import InvalidSchema
from tools_app.json_schema import reading

_active_task = Select(lambda session: Task.objects.filter(session=session).active()[:1])
LONGEST_MESSAGE = 1024 * 1024  # bytes
Delivery = Literal["started", "reply", "interjected", "steered", "queued"]


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """What became of a message. `task` is None for a queued one: its task does not exist yet."""

    task: Task | None
    delivered_as: Delivery


def post_message(
    session: Session,
    author: Any,
    content: str,
    *,
    attachments: Sequence[str] = (),
    pictures: Sequence[KeptPicture] | None = None,
    mode: str = Mode.INTERJECT,
    max_iterations: int | None = None,
    output_schema: Any = None,
    workflow: Workflow | None = None,
    terminal: str = "",
) -> Delivered:
    """Starts a task, answers its question, or waits in the inbox: an interjection reaches the task wherever it is, a
    steer before its next step, or in place of the call that waits for an approval.

    What comes after the stop of the task waits for the next. `pictures` are those of the attachments, where the caller
    has a transaction: they take their time. `output_schema` is what the data of the task's result must fit, `workflow`
    the steps that it goes through. With a `terminal`, that process alone advances it. Raises InvalidMessage,
    MessageTooLong, SchemaTooLate, WorkflowTooLate, AgentWithheld, QueueFull, DiskFull or FilesQuotaFull.
    """
    content, schema = _checked_text(session, content, attachments), _schema_text(output_schema, session)
    if pictures is None:
        pictures = images.of_attachments(workspace_of(session), attachments) if attachments else ()
    message = InboxMessage(
        session=session,
        author=author,
        mode=mode,
        content=content,
        attachments=list(attachments),
        images=[asdict(picture) for picture in pictures],
        output_schema=schema,
        workflow=workflow,
    )
    with transaction.atomic():
        lock(session)
        task = _active_task.first(session.pk)
        if not terminal:
            _require_agent(session, author)
        if task and mode != Mode.QUEUE and not task.stop_requested_at:
            return _tell(task, message)
        if not (task or terminal):
            require_disk(session)
            admission.require_room(author)
        _put_into_inbox(message)
        if task:
            message.put_behind(task.stop_requested_at)
            return Delivered(task=None, delivered_as="queued")
        _name(session, content)
        task = next_task.start(session, message, max_iterations=max_iterations, terminal=terminal)
        return Delivered(task=task, delivered_as="started")


def _require_agent(session: Session, author: Any) -> None:
    """Whoever may choose it may write to it, also where the session is somebody else's or a role was taken away."""
    agent = session.active_agent_id or session.agent_id
    if agent and not Agent.objects.for_roles_of(author.pk).filter(pk=agent).exists():
        raise AgentWithheld()


def _tell(task: Task, message: InboxMessage) -> Delivered:
    """The message answers the task's question, interrupts or steers it. Raises SchemaTooLate or WorkflowTooLate."""
    if message.output_schema:
        raise SchemaTooLate(field="output_schema")
    if message.workflow:
        raise WorkflowTooLate(field="workflow")
    if task.waiting_for == WaitingFor.REPLY:
        pictures = [KeptPicture(**image) for image in message.images]
        words = next_task.with_files(message.content, message.attachments)
        _answer(task, message.author, words, images=pictures)
        return Delivered(task=task, delivered_as="reply")
    _put_into_inbox(message)
    if message.mode == Mode.INTERJECT or task.waiting_for == WaitingFor.APPROVAL:
        _rouse(task)
    return Delivered(task=task, delivered_as="interjected" if message.mode == Mode.INTERJECT else "steered")


def _put_into_inbox(message: InboxMessage) -> None:
    execute([save(message)])
    transaction.on_commit(partial(broadcast.inbox_changed, message.session))


def change_message(session: Session, author: Any, message_id: int, content: str) -> None:
    """Other words for a message of theirs that waits. Raises MessageRead, InvalidMessage or MessageTooLong."""
    with transaction.atomic():
        message = _waiting_message(session, author, message_id)
        message.content = _checked_text(session, content, message.attachments)
        _put_into_inbox(message)


def take_back(session: Session, author: Any, message_id: int) -> None:
    """Removes a message of theirs that waits. Raises MessageRead."""
    with transaction.atomic():
        _waiting_message(session, author, message_id).delete()
        transaction.on_commit(partial(broadcast.inbox_changed, session))


def _waiting_message(session: Session, author: Any, message_id: int) -> InboxMessage:
    """Under the session's lock, under which it is also delivered."""
    lock(session)
    message = InboxMessage.objects.changeable_by(author, session).filter(pk=message_id).first()
    if message is None:
        raise MessageRead()
    return message


def reply(task: Task, author: Any, content: str, *, call_id: str = "") -> None:
    """Answers the question that a task waits with; a `call_id` says which one. Raises NothingToAnswer."""
    content = _checked_text(task.session, content, ())
    with transaction.atomic():
        lock(task.session)
        task.refresh_from_db()
        _answer(task, author, content, call_id)


def _answer(task: Task, author: Any, content: str, call_id: str = "", images: Sequence[KeptPicture] = ()) -> None:
    """The answer is the result of the open call, written by a person."""
    open_call.resume(task, WaitingFor.REPLY)
    call = open_call.awaited_call(task, call_id)
    call.log.status = CallStatus.SUCCEEDED
    call.log.save(update_fields=["status"])
    task.add_author(author)
    drafts = call.result(content, CallStatus.SUCCEEDED, images=images, author=author.get_username())
    append_entries(task.session, task, drafts)


def decide(
    task: Task, author: Any, decision: str, *, note: str = "", scope: str = Scope.ONCE, call_id: str = ""
) -> None:
    """A person's word on the call that waits; a `call_id` says which one they saw.

    Raises NothingToAnswer, MayNotDecide or OnlyThisCall.
    """
    note = redactor_of(task.session).redacted(note)
    with transaction.atomic():
        lock(task.session)
        task.refresh_from_db()
        call = open_call.awaited_call(task, call_id)
        approval = Approval.objects.waiting().filter(tool_call=call.log).first()
        if approval is None:
            raise NothingToAnswer()
        if objection := approver.why_not(approval, author, decision):
            raise MayNotDecide(objection)
        if scope == Scope.TASK and approver.is_single(approval):
            raise OnlyThisCall(field="scope")
        if note:
            task.add_author(author)
        settle(task, call, decision, by=author, note=note, scope=scope)


def stop(task: Task) -> Task:
    """Ends a task, whatever it is doing; does nothing to one that has ended."""
    with transaction.atomic():
        lock(task.session)
        Task.objects.active().filter(pk=task.pk).update(
            stop_requested_at=InboxMessage.objects.moment_behind(task.session)
        )
        task.refresh_from_db()
        children.stop(task)
        if task.is_active:
            _rouse(task)
    return task


def _rouse(task: Task) -> None:
    """Makes a task look around now: it is interrupted if it runs, and woken if it waits, or shall stop in the queue."""
    if task.waiting_for == WaitingFor.CHILDREN:
        children.stop(task)
    if task.waiting_for:
        Task.objects.filter(pk=task.pk).update(waiting_for=None)
    if task.waiting_for or (task.stop_requested_at and not task.lease_owner):
        wakeup.wake(task.pk)
    wakeup.interrupt(task.pk)


def _name(session: Session, content: str) -> None:
    """A session without a title takes the beginning of its first message."""
    if not session.title:
        session.title = title_from(content)
        title = Update(Session, {"title": session.title}, where={"pk": session.pk}, otherwise=Session.DoesNotExist())
        execute([title])


def _checked_text(session: Session, content: str, attachments: Sequence[str]) -> str:
    """The text of a message as it can be stored, without secrets. Raises InvalidMessage or MessageTooLong."""
    content = storable(content)
    if len(content.encode()) > LONGEST_MESSAGE:
        raise MessageTooLong()
    if not content.strip() and not attachments:
        raise InvalidMessage(field="content")
    return redactor_of(session).redacted(content)


def _schema_text(schema: Any, session: Session) -> str:
    """The JSON Schema for the data of a result, as a task keeps it: redacted text, or "". Raises InvalidMessage."""
    if schema is None:
        return ""
    try:
        read = storable_json(json.loads(reading.schema_text(schema)))
    except InvalidSchema as error:
        raise InvalidMessage(storable(str(error)), field="output_schema") from error
    return json.dumps(redactor_of(session).redacted_json(read), ensure_ascii=False)
