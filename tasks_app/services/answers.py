"""Answers to questions and decisions on approvals. Each operation is a short transaction."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from tasks_app.models import Approval, ApprovalScope, CallStatus, Task, WaitingFor
from tasks_app.models.errors import MayNotDecide, NothingToAnswer, OnlyThisCall
from tasks_app.record import StoredPicture, append_entries, lock, redactor_of
from tasks_app.run import decisions, open_call
from tasks_app.run.decisions import settle
from tasks_app.services.checked import checked_text


def reply(task: Task, author: Any, content: str, *, call_id: str = "") -> None:
    """Answer the question that a task waits with; a `call_id` names it. Raises NothingToAnswer."""
    content = checked_text(task.session, content, ())
    with transaction.atomic():
        lock(task.session)
        task.refresh_from_db()
        answer(task, author, content, call_id)


def answer(task: Task, author: Any, content: str, call_id: str = "", images: Sequence[StoredPicture] = ()) -> None:
    """Append a person's answer as the result of the open call."""
    open_call.resume(task, WaitingFor.REPLY)
    call = open_call.awaited_call(task, call_id)
    call.log.status = CallStatus.SUCCEEDED
    call.log.save(update_fields=["status"])
    task.add_author(author)
    drafts = call.result(content, CallStatus.SUCCEEDED, images=images, author=author.get_username())
    append_entries(task.session, task, drafts)


def decide(
    task: Task, author: Any, decision: str, *, note: str = "", scope: str = ApprovalScope.ONCE, call_id: str = ""
) -> None:
    """Store a person's decision on the waiting call; a `call_id` names the call that they saw.

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
        if objection := decisions.refusal_reason(approval, author, decision):
            raise MayNotDecide(objection)
        if scope == ApprovalScope.TASK and decisions.is_single(approval):
            raise OnlyThisCall(field="scope")
        if note:
            task.add_author(author)
        settle(task, call, decision, by=author, note=note, scope=scope)
