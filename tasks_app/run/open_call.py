"""The open call, a tool call without its result: the only durable state of waiting.

Questions, approvals and crashes all resume from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from django.db import transaction

from llm_app.types import ToolCall
from tasks_app.models import PERSON_WAITS, ContextEntry, Task, ToolCallLog, WaitingFor
from tasks_app.models.errors import NothingToAnswer
from tasks_app.record import Draft, StoredPicture, call_json, redact_entry, redactor_of
from tasks_app.record.draft import result
from tasks_app.run import reminders
from tasks_app.runtime import broadcast, wakeup

ASKED = "The agent has a question and continues when you answer."


@dataclass(frozen=True, kw_only=True)
class OpenCall:
    """A call without its result.

    `cut_at` is the output limit, in tokens, at which the call was cut; 0 if it is unknown, None for a complete call.
    `is_early`: the provider ended the reply long before that limit.

    `deferred` are the further calls of the same reply, verbatim; a reminder lists them after the result. `text` is the
    text of the reply.
    """

    call: ToolCall
    log: ToolCallLog
    deferred: Sequence[str] = ()
    text: str = ""
    cut_at: int | None = None
    is_early: bool = False

    def result(
        self, text: str, status: str, *, images: Sequence[StoredPicture] = (), **metadata: object
    ) -> list[Draft]:
        """Return the result of this call and the reminder that follows it."""
        return [result(self.call.id, text, status, images, **metadata), *reminders.deferred(self.deferred)]


def open_call_in(entry: ContextEntry) -> OpenCall:
    """Return the open call in an entry of the record."""
    assert entry.call is not None
    return OpenCall(
        call=ToolCall(**entry.call),
        log=ToolCallLog.objects.select_related("approval").get(session_id=entry.session_id, call_id=entry.call["id"]),
        deferred=entry.metadata.get("deferred", ()),
        text=entry.content,
        cut_at=0 if entry.is_cut else None,
    )


def resume(task: Task, waiting_for: WaitingFor) -> None:
    """End the wait.

    Raises: NothingToAnswer if another answer came first.
    """
    if not Task.objects.filter(pk=task.pk, waiting_for=waiting_for).update(waiting_for=None):
        raise NothingToAnswer()
    task.waiting_for = None
    transaction.on_commit(partial(broadcast.state_changed, task))
    wakeup.wake(task.pk)


def awaited_call(task: Task, call_id: str = "") -> OpenCall:
    """Return the call that waits.

    Raises: NothingToAnswer if nothing waits, or for another `call_id`, which comes from an outdated page.
    """
    entry = ContextEntry.objects.in_session(task.session).in_context().last()
    if entry is None or entry.call is None or call_id not in ("", entry.call["id"]):
        raise NothingToAnswer()
    return open_call_in(entry)


def pending_json(task: Task) -> dict[str, Any] | None:
    """Return {id, name, arguments, kind, reason, text, options, danger} of the open call.

    It is None if no person must answer. `text` and `options` belong to a question, `danger` to an approval. They are
    None for the other kind.
    """
    needs_person = task.waiting_for in PERSON_WAITS
    entry = ContextEntry.objects.in_session(task.session).in_context().last() if needs_person else None
    call = call_json(redact_entry(entry, redactor_of(task.session))) if entry else None
    if call is None:  # nothing waits, or it was answered in this instant
        return None
    log = ToolCallLog.objects.select_related("approval").get(session_id=task.session_id, call_id=call["id"])
    if task.waiting_for == WaitingFor.REPLY:
        arguments = orjson.loads(log.arguments)
        text = arguments.get("text") or arguments["note"]  # `note` is that of a blocked step
        details = {"reason": ASKED, "text": text, "options": arguments.get("options", []), "danger": None}
    else:
        details = {"reason": log.approval.reason, "text": None, "options": None, "danger": log.danger}
    return {**call, "kind": task.waiting_for, **details}
