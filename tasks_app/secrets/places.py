"""Where a value that became a secret stands already: in the record, which is redacted on reading, and in its copies."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from llm_app.redaction.redactor import Redactor
from tasks_app.models import ContextEntry, Session


@dataclass(frozen=True, kw_only=True)
class Place:
    """An entry of a session."""

    session: UUID
    title: str
    seq: int


def places(sessions: QuerySet[Session], redactor: Redactor) -> list[Place]:
    """The entries that say what `redactor` knows, newest first."""
    entries = ContextEntry.objects.filter(session__in=sessions.order_by().values("pk")).order_by("-created_at", "-seq")
    rows = entries.values_list(
        "session_id", "session__title", "seq", "content", "thinking", "tool_call", "images", "metadata"
    )
    return list(_saying(rows.iterator(chunk_size=500), redactor))


def _saying(rows: Iterable[tuple[Any, ...]], redactor: Redactor) -> Iterator[Place]:
    for session, title, seq, *texts, metadata in rows:
        if any(redactor.redact(text).spans for text in (*texts, json.dumps(metadata, ensure_ascii=False)) if text):
            yield Place(session=session, title=title, seq=seq)
