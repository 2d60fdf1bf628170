"""Entries as people, programs and files get them: what became secret after they were stored is redacted on reading."""

import json
from collections.abc import Iterable
from copy import copy
from dataclasses import asdict
from typing import Any

from llm_app.redaction.redactor import Redactor
from llm_app.redaction.turn import redacted_call
from llm_app.types import ToolCall
from tasks_app.models import ContextEntry, Session
from tasks_app.record.session_secrets import redactor_of


def redact_entries(session: Session, entries: Iterable[ContextEntry]) -> list[ContextEntry]:
    """Entries of a session without what is secret in it at this moment."""
    entries = list(entries)
    redactor = redactor_of(session) if entries else Redactor([])
    return [redact_entry(entry, redactor) for entry in entries]


def redact_entry(entry: ContextEntry, redactor: Redactor) -> ContextEntry:
    """The entry itself if it was redacted with the same secrets, else a copy: what is stored is never changed."""
    if entry.masked_with == redactor.version:
        return entry
    redacted = copy(entry)
    redacted.content = redactor.redacted(entry.content)
    redacted.tool_call_id = redactor.redacted(entry.tool_call_id)
    redacted.metadata = redactor.redacted_json(entry.metadata)
    redacted.thinking, redacted.images = (
        _redacted_text(entry.thinking, redactor),
        _redacted_text(entry.images, redactor),
    )
    if call := entry.call:
        redacted.tool_call = _json(asdict(redacted_call(ToolCall(**call), redactor)))
    return redacted


def _redacted_text(text: str, redactor: Redactor) -> str:
    """A JSON text, redacted value by value: so it stays one."""
    return _json(redactor.redacted_json(json.loads(text))) if text else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
