"""What a waiting task waits with: the open tool call that a person answers or approves."""

from typing import Any

import orjson

from tasks_app.models import ContextEntry, Task, ToolCallLog
from tasks_app.models.task import WaitingFor
from tasks_app.record.entry_json import call_json
from tasks_app.record.redacted import redact_entry
from tasks_app.record.session_secrets import redactor_of

ASKED = "The agent asks, and goes on when you answer."


def pending_of(task: Task) -> dict[str, Any] | None:
    """{id, name, arguments, kind, reason, text, options, danger} of the open call; None if the task does not wait.

    `text` and `options` belong to a question, `danger` to an approval, and are None for the other kind.
    """
    entry = ContextEntry.objects.of(task.session).in_context().last() if task.waiting_for else None
    call = call_json(redact_entry(entry, redactor_of(task.session))) if entry else None
    if call is None:  # it does not wait, or was answered in this instant
        return None
    log = ToolCallLog.objects.select_related("approval").get(session_id=task.session_id, call_id=call["id"])
    about = _question(log) if task.waiting_for == WaitingFor.REPLY else _approval(log)
    return {**call, "kind": task.waiting_for, "text": None, "options": None, "danger": None, **about}


def _question(log: ToolCallLog) -> dict[str, Any]:
    arguments = orjson.loads(log.arguments)
    text = arguments.get("text") or arguments["note"]  # of a step that is blocked
    return {"reason": ASKED, "text": text, "options": arguments.get("options", [])}


def _approval(log: ToolCallLog) -> dict[str, Any]:
    return {"reason": log.approval.reason, "danger": log.danger}
