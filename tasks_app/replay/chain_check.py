"""Whether a session's record is what was appended: its first broken link, or its missing tail."""

from collections.abc import Iterable

from tasks_app.models import ContextEntry, Session
from tasks_app.record import chain


def fault_in(session: Session, entries: Iterable[ContextEntry]) -> str:
    """What is wrong with the chain, in a sentence; empty if it is whole.

    `entries` are all of the session in order, `session` was read before them: what was appended meanwhile is left out.
    """
    predecessor, seq = "", 0
    for entry in entries:
        if entry.seq > session.last_seq:
            break
        if entry.seq != seq + 1:
            return f"The chain is broken at entry {seq + 1}: it is missing."
        if not chain.holds(entry, predecessor):
            return _broken(entry)
        predecessor, seq = entry.hash, entry.seq
    if seq < session.last_seq:
        return f"The tail is missing: entries {seq + 1} to {session.last_seq}."
    if predecessor != session.chain_head:
        return f"The session's head is not the hash of its newest entry, {seq}."
    return ""


def _broken(entry: ContextEntry) -> str:
    if not chain.knows_key_of(entry):
        return (
            f"The chain cannot be checked from entry {entry.seq} on: its key {entry.hash_key!r} is not in "
            "FIELD_ENCRYPTION_KEY."
        )
    return f"The chain is broken at entry {entry.seq}: it is not what was appended there."
