"""Appending to the record: numbers, redaction, hash chain and lock. Nothing else inserts entries."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from django.db import transaction
from django.utils import timezone

from llm_app.redaction import Redactor
from llm_app.sql import InsertRows, Statement, UpdateRow, execute
from tasks_app.models import ContextEntry, Session, Task
from tasks_app.models.entry import SEQ_ONCE
from tasks_app.record import chain
from tasks_app.record.draft import Draft
from tasks_app.record.session_secrets import redactor_of
from tasks_app.runtime import broadcast

BATCH_SIZE = 1000  # entries per statement: PostgreSQL allows 65,535 parameters


class ChainHead(NamedTuple):
    """The `seq` and hash of a session's newest entry."""

    seq: int
    hash: str


def lock(session: Session) -> ChainHead:
    """Lock the session's row until the transaction ends.

    Writers that read before they write take this lock. `append_statements` locks by its update.
    """
    row = Session.objects.lock_head(session.pk)
    if row is None:
        raise Session.DoesNotExist
    return ChainHead(*row)


def append_entries(
    session: Session, task: Task, drafts: Sequence[Draft], *, redactor: Redactor | None = None
) -> list[ContextEntry]:
    """Redact and append drafts in the caller's transaction, and notify followers after the commit.

    The lock prevents gaps in `seq` and forks of the chain. Pass an up-to-date `redactor` to save reading the secrets.
    """
    if not drafts:
        return []
    entries = chained_entries(session, task, drafts, lock(session), redactor or redactor_of(session))
    newest = entries[-1]
    columns = {"last_seq": newest.seq, "chain_head": newest.hash, "updated_at": newest.created_at}
    inserts = [InsertRows(entries[start : start + BATCH_SIZE]) for start in range(0, len(entries), BATCH_SIZE)]
    execute([*inserts, UpdateRow(Session, columns, where={"pk": session.pk}, error=Session.DoesNotExist())])
    transaction.on_commit(lambda: broadcast.entry_appended(session, newest.seq))
    return entries


class HeadMoved(Exception):
    """The head or the secrets that a commit was composed with are outdated."""


def is_lost_race(error: Exception) -> bool:
    """Return whether the error means that the commit's head or secrets were outdated.

    PostgreSQL receives all statements together, and so reports the duplicate `seq` instead of HeadMoved.
    """
    diagnostics = getattr(error.__cause__, "diag", None)
    return isinstance(error, HeadMoved) or getattr(diagnostics, "constraint_name", "") == SEQ_ONCE


def append_statements(session: Session, head: ChainHead, entries: Sequence[ContextEntry]) -> list[Statement]:
    """Return two statements that lock the session and insert entries linked to `head`; without entries, the lock
    alone.

    Executing them raises HeadMoved if `head` is no longer the newest entry.
    """
    columns: dict[str, Any] = {"last_seq": head.seq, "chain_head": head.hash}
    where = {"pk": session.id, **columns}
    if entries:
        newest = entries[-1]
        columns = {"last_seq": newest.seq, "chain_head": newest.hash, "updated_at": newest.created_at}
    update = UpdateRow(Session, columns, where=where, error=HeadMoved())
    return [update, InsertRows(entries)] if entries else [update]


def chained_entries(
    session: Session, task: Task, drafts: Sequence[Draft], head: ChainHead, redactor: Redactor
) -> list[ContextEntry]:
    """Return redacted entries, numbered and chained after `head`, without saving them."""
    entries, now, key = [], timezone.now(), chain.key()
    for draft in drafts:
        entry = _entry(session, task, draft.redacted(redactor))
        entry.seq, entry.created_at = head.seq + 1, now
        entry.masked_with = redactor.version
        entry.hash, entry.hash_key = key.link(entry, head.hash), key.id
        head = ChainHead(entry.seq, entry.hash)
        entries.append(entry)
    return entries


def _entry(session: Session, task: Task, draft: Draft) -> ContextEntry:
    discarded = {"discarded": True} if draft.discarded else {}
    return ContextEntry(
        session=session,
        task=task,
        context_type=draft.context_type,
        in_context=draft.in_context,
        role=draft.role,
        content=storable(draft.content),
        thinking=storable(draft.thinking_text),
        tool_call=storable(draft.tool_call_text),
        tool_call_id=draft.tool_call_id,
        images=storable(draft.images_text),
        metadata=storable_json(draft.metadata | discarded),
    )


def storable(text: str) -> str:
    """Replace NUL and lone surrogates, which some databases, hashes and protocols cannot carry."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable_json(value: Any) -> Any:
    """Apply `storable` to each text in a JSON value. Return the value itself if all its texts are storable."""
    try:
        is_storable = b"\\u0000" not in orjson.dumps(value)
    except TypeError:  # a lone surrogate, or a key that is not a string
        is_storable = False
    return value if is_storable else _storable_json(value)


def _storable_json(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): _storable_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_storable_json(item) for item in value]
    return value
