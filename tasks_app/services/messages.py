"""Messages to tasks, and stopping tasks. Each operation is a short transaction."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from django.db import transaction

from llm_app.sql import UpdateRow, execute, save
from tasks_app.models import Agent, InboxMessage, Mode, Session, Task, WaitingFor, Workflow
from tasks_app.models.errors import AgentWithheld, MessageRead, SchemaTooLate, WorkflowTooLate
from tasks_app.record import StoredPicture, images, lock
from tasks_app.run import children, next_task
from tasks_app.runtime import admission, broadcast, wakeup
from tasks_app.services.answers import answer
from tasks_app.services.checked import checked_text, schema_text
from tasks_app.workspace.folders import check_space, workspace_of

Delivery = Literal["started", "reply", "interjected", "steered", "queued"]


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """The outcome of a message. `task` is None for a queued message, whose task does not exist yet."""

    task: Task | None
    delivered_as: Delivery


def post_message(
    session: Session,
    author: Any,
    content: str,
    *,
    attachments: Sequence[str] = (),
    pictures: Sequence[StoredPicture] | None = None,
    mode: str = Mode.INTERJECT,
    max_iterations: int | None = None,
    output_schema: Any = None,
    workflow: Workflow | None = None,
    terminal: str = "",
) -> Delivered:
    """Start a task, answer the question of the running one, or put the message into the inbox.

    An interjection reaches the task immediately, a steer before its next step or instead of a call that waits for
    approval. Messages after a stop wait for the next task.

    Pass `pictures` (of the attachments) if the caller has a transaction: encoding them takes time. The data of the
    task's result must match `output_schema`. `workflow` has the steps that the task takes. With a `terminal`, only that
    process advances the task. Raises InvalidMessage, MessageTooLong, SchemaTooLate, WorkflowTooLate, AgentWithheld,
    QueueFull, DiskFull or FilesQuotaFull.
    """
    content, schema = checked_text(session, content, attachments), schema_text(output_schema, session)
    if pictures is None:
        pictures = images.store_attachments(workspace_of(session), attachments) if attachments else ()
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
        task = Task.objects.active_in(session)
        if not terminal:
            _require_agent(session, author)
        if task is None:
            return _start(message, max_iterations, terminal)
        if mode != Mode.QUEUE and not task.stop_requested_at:
            return _deliver(task, message)
        _save_to_inbox(message)
        message.move_after(task.stop_requested_at)
        return Delivered(task=None, delivered_as="queued")


def _start(message: InboxMessage, max_iterations: int | None, terminal: str) -> Delivered:
    """Start a task for the message. Raises QueueFull, DiskFull or FilesQuotaFull, unless a terminal runs it."""
    session = message.session
    if not terminal:
        check_space(session)
        admission.check_queue(message.author)
    _save_to_inbox(message)
    _set_title(session, message.content)
    task = next_task.start(session, message, max_iterations=max_iterations, terminal=terminal)
    return Delivered(task=task, delivered_as="started")


def _require_agent(session: Session, author: Any) -> None:
    """Check that the author may choose the session's agent, also in shared sessions or after a role was removed.

    Raises AgentWithheld.
    """
    agent = session.active_agent_id or session.agent_id
    if agent and not Agent.objects.for_roles_of(author.pk).filter(pk=agent).exists():
        raise AgentWithheld()


def _deliver(task: Task, message: InboxMessage) -> Delivered:
    """Answer the task's question with the message, interrupt the task or steer it. Raises SchemaTooLate or
    WorkflowTooLate.
    """
    if message.output_schema:
        raise SchemaTooLate(field="output_schema")
    if message.workflow:
        raise WorkflowTooLate(field="workflow")
    if task.waiting_for == WaitingFor.REPLY:
        pictures = [StoredPicture(**image) for image in message.images]
        text = next_task.with_files(message)
        answer(task, message.author, text, images=pictures)
        return Delivered(task=task, delivered_as="reply")
    _save_to_inbox(message)
    if message.mode == Mode.INTERJECT or task.waiting_for == WaitingFor.APPROVAL:
        _notify_task(task)
    return Delivered(task=task, delivered_as="interjected" if message.mode == Mode.INTERJECT else "steered")


def _save_to_inbox(message: InboxMessage) -> None:
    execute([save(message)])
    transaction.on_commit(partial(broadcast.inbox_changed, message.session))


def change_message(session: Session, author: Any, message_id: int, content: str) -> None:
    """Replace the text of the author's waiting message. Raises MessageRead, InvalidMessage or MessageTooLong."""
    with transaction.atomic():
        message = _waiting_message(session, author, message_id)
        message.content = checked_text(session, content, message.attachments)
        _save_to_inbox(message)


def delete_message(session: Session, author: Any, message_id: int) -> None:
    """Delete the author's waiting message. Raises MessageRead."""
    with transaction.atomic():
        _waiting_message(session, author, message_id).delete()
        transaction.on_commit(partial(broadcast.inbox_changed, session))


def _waiting_message(session: Session, author: Any, message_id: int) -> InboxMessage:
    """Lock the session, under whose lock messages are delivered, and return the message. Raises MessageRead."""
    lock(session)
    message = InboxMessage.objects.changeable_by(author, session).filter(pk=message_id).first()
    if message is None:
        raise MessageRead()
    return message


def stop(task: Task) -> Task:
    """Request a stop of the task in any state. An ended task is unchanged."""
    with transaction.atomic():
        lock(task.session)
        Task.objects.active().filter(pk=task.pk).update(stop_requested_at=InboxMessage.objects.stop_time(task.session))
        task.refresh_from_db()
        children.stop(task)
        if task.is_active:
            _notify_task(task)
    return task


def _notify_task(task: Task) -> None:
    """Make a task check for messages and stops now: interrupt it if it runs, wake it if it waits or is stopped in the
    queue.
    """
    if task.waiting_for == WaitingFor.CHILDREN:
        children.stop(task)
    if task.waiting_for:
        Task.objects.filter(pk=task.pk).update(waiting_for=None)
    if task.waiting_for or (task.stop_requested_at and not task.lease_owner):
        wakeup.wake(task.pk)
    wakeup.interrupt(task.pk)


def _set_title(session: Session, content: str) -> None:
    """Name an untitled session after the beginning of its first message."""
    if not session.title:
        session.title = next_task.title_of(content)
        title = UpdateRow(Session, {"title": session.title}, where={"pk": session.pk}, error=Session.DoesNotExist())
        execute([title])
