"""What a tool declared, as fields of the task's row and as rows of their own."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.db import models

from llm_app.redaction.redactor import Redactor
from tasks_app.models import TaskState
from tasks_app.record.append import storable_json
from tools_app.contract.effects import Effect, Finish, KeepSearch, SetPlan
from tools_app.models import CachedSearch


def fields_of(effects: Sequence[Effect]) -> dict[str, Any]:
    """The fields that change in the transaction of the result."""
    fields: dict[str, Any] = {}
    for effect in effects:
        if isinstance(effect, Finish):
            fields |= {"state": TaskState.FINALIZING, "final_result": _final_result(effect)}
        elif isinstance(effect, SetPlan):
            fields["plan"] = [asdict(step) for step in effect.steps]
    return {name: storable_json(value) for name, value in fields.items()}


def rows_of(effects: Sequence[Effect], user_id: int, redactor: Redactor) -> list[models.Model]:
    """The rows that are stored in it."""
    return [
        CachedSearch(user_id=user_id, key=effect.key, content=redactor.redacted(effect.content))
        for effect in effects
        if isinstance(effect, KeepSearch)
    ]


def _final_result(finish: Finish) -> dict[str, Any]:
    return {
        "text": finish.text,
        "data": finish.data,
        "attachments": list(finish.attachments),
        "suggestions": list(finish.suggestions),
    }
