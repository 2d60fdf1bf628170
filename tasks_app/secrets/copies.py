"""What is kept beside the record and is no part of it: masked where it stands when a secret is saved.

Notes of the memory are masked by `memory_keeping`, which keeps what they are found by.
"""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Model, Q, QuerySet

from llm_app.models import LLMLog
from llm_app.redaction.masker import Masker
from tasks_app.models import Approval, IdempotencyKey, InboxMessage, Session, Task, ToolCallLog
from tasks_app.record.append import lock
from tools_app.models import CachedSearch

_OF_SESSIONS: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {  # how to filter, and what to mask
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


def mask_copies(sessions: QuerySet[Session], people: QuerySet[Any], masker: Masker) -> None:
    """Of these sessions and people. What a task writes at this moment is waited for: later it knows the secret."""
    for session in sessions.filter(pk__in=Task.objects.active().values("session")):
        with transaction.atomic():
            lock(session)
    for model, (lookup, fields) in _OF_SESSIONS.items():
        _mask(model, Q(**{f"{lookup}__in": sessions.order_by().values("pk")}), fields, masker)
    for model, (lookup, fields) in _OF_PEOPLE.items():
        _mask(model, Q(**{f"{lookup}__in": people.values("pk")}), fields, masker)
    _mask(get_user_model(), Q(pk__in=people.values("pk")), ("preferences",), masker)


def _mask(model: type[Model], which: Q, fields: tuple[str, ...], masker: Masker) -> None:
    """Writes only the rows that say a secret, and of them only what does."""
    for pk, *values in model._base_manager.filter(which).values_list("pk", *fields):
        changed = {
            name: masked
            for name, value in zip(fields, values, strict=True)
            if (masked := _masked(model, name, value, masker)) != value
        }
        if changed:
            model._base_manager.filter(pk=pk).update(**changed)


def _masked(model: type[Model], name: str, value: Any, masker: Masker) -> Any:
    if not isinstance(value, str):
        return masker.masked_json(value)
    if (model, name) in _JSON and value.startswith(("{", "[")):
        found = json.loads(value)
        masked = masker.masked_json(found)
        return value if masked == found else json.dumps(masked, ensure_ascii=False)
    longest = getattr(model._meta.get_field(name), "max_length", None)
    return value if (masked := masker.masked(value)) == value else masked[:longest]
