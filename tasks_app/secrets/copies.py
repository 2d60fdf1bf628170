"""What is kept beside the record and is no part of it: redacted where it stands when a secret is saved.

Notes of the memory are redacted by `memory_keeping`, which keeps what they are found by.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Model, Q, QuerySet

from llm_app.models import LLMLog
from llm_app.redaction.redactor import Redactor
from tasks_app.models import Approval, IdempotencyKey, InboxMessage, Session, Task, ToolCallLog
from tasks_app.record.append import lock
from tools_app.models import CachedSearch

_OF_SESSIONS: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {  # how to filter, and what to redact
    Session: ("pk", ("title", "summary", "next_steps")),
    Task: ("session", ("plan", "final_result", "failure_detail")),
    InboxMessage: ("session", ("content",)),
    ToolCallLog: ("session_id", ("arguments",)),
    Approval: ("tool_call__session_id", ("reason", "note")),
    LLMLog: ("session_id", ("error",)),
}
_OF_PEOPLE: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {
    CachedSearch: ("user", ("content",)),
    IdempotencyKey: ("user", ("answer",)),
    LogEntry: ("user", ("object_repr", "change_message")),
}
_JSON = {(ToolCallLog, "arguments"), (LogEntry, "change_message")}  # as texts


def redact_copies(sessions: QuerySet[Session], people: QuerySet[Any], redactor: Redactor) -> None:
    """Of these sessions and people. What a task writes at this moment is waited for: later it knows the secret."""
    for session in sessions.filter(pk__in=Task.objects.active().values("session")):
        with transaction.atomic():
            lock(session)
    for model, (lookup, fields) in _OF_SESSIONS.items():
        _redact(model, Q(**{f"{lookup}__in": sessions.order_by().values("pk")}), fields, redactor)
    for model, (lookup, fields) in _OF_PEOPLE.items():
        _redact(model, Q(**{f"{lookup}__in": people.values("pk")}), fields, redactor)
    _redact(get_user_model(), Q(pk__in=people.values("pk")), ("preferences",), redactor)


def _redact(model: type[Model], which: Q, fields: tuple[str, ...], redactor: Redactor) -> None:
    """Writes only the rows that say a secret, and of them only what does."""
    for pk, *values in model._base_manager.filter(which).values_list("pk", *fields):
        changed = {
            name: redacted
            for name, value in zip(fields, values, strict=True)
            if (redacted := _redacted(model, name, value, redactor)) != value
        }
        if changed:
            model._base_manager.filter(pk=pk).update(**changed)


def _redacted(model: type[Model], name: str, value: Any, redactor: Redactor) -> Any:
    if not isinstance(value, str):
        return redactor.redacted_json(value)
    if (model, name) in _JSON and value.startswith(("{", "[")):
        found = json.loads(value)
        redacted = redactor.redacted_json(found)
        return value if redacted == found else json.dumps(redacted, ensure_ascii=False)
    longest = getattr(model._meta.get_field(name), "max_length", None)
    return value if (redacted := redactor.redacted(value)) == value else redacted[:longest]
