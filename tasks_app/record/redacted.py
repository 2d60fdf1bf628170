"""Entries as people, programs and files get them: what became secret after they were stored is masked on reading."""

import json
from collections.abc import Iterable
from copy import copy
from dataclasses import asdict
from typing import Any

from llm_app.redaction.masker import Masker
from llm_app.redaction.turn import masked_call
from llm_app.types import ToolCall
from tasks_app.models import ContextEntry, Session
from tasks_app.record.session_secrets import masker_of


def redact_entries(session: Session, entries: Iterable[ContextEntry]) -> list[ContextEntry]:
    """Entries of a session without what is secret in it at this moment."""
    entries = list(entries)
    masker = masker_of(session) if entries else Masker([])
    return [redact_entry(entry, masker) for entry in entries]


def redact_entry(entry: ContextEntry, masker: Masker) -> ContextEntry:
    """The entry itself if it was masked with the same secrets, else a copy: what is stored is never changed."""
    if entry.masked_with == masker.version:
        return entry
    masked = copy(entry)
    masked.content = masker.masked(entry.content)
    masked.tool_call_id = masker.masked(entry.tool_call_id)
    masked.metadata = masker.masked_json(entry.metadata)
    masked.thinking, masked.images = _masked_text(entry.thinking, masker), _masked_text(entry.images, masker)
    if call := entry.call:
        masked.tool_call = _json(asdict(masked_call(ToolCall(**call), masker)))
    return masked


def _masked_text(text: str, masker: Masker) -> str:
    """A JSON text, masked value by value: so it stays one."""
    return _json(masker.masked_json(json.loads(text))) if text else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
