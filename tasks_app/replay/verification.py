"""Whether the record is whole: each request is what was sent, and each chain what was appended."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, QuerySet

from llm_app.models import LLMLog
from tasks_app.models import ContextEntry, Session
from tasks_app.record import chain
from tasks_app.replay.requests import NotRebuilt, SessionRequests, is_as_sent


@dataclass(kw_only=True)
class Findings:
    """What was looked at, and what is wrong with it, a sentence each. `gone`: calls whose session was deleted."""

    sessions: int = 0
    entries: int = 0
    calls: int = 0
    gone: int = 0
    mismatches: list[str] = field(default_factory=list)
    broken_chains: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return not self.mismatches and not self.broken_chains

    def __iadd__(self, other: "Findings") -> "Findings":
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    def __str__(self) -> str:
        gone = f"; {self.gone} of deleted sessions, whose record is gone with them" if self.gone else ""
        return (
            f"{self.calls:,} calls rebuilt, {len(self.mismatches)} mismatches{gone}. {self.sessions:,} chains of "
            f"{self.entries:,} entries, {len(self.broken_chains)} broken."
        )


def of_session(session: Session, calls: QuerySet[LLMLog] | None = None) -> Findings:
    """Its chain and its requests; of these `calls`, if not all. Reads the record once."""
    calls = LLMLog.objects.filter(session_id=session.pk) if calls is None else calls
    logs = list(calls.order_by("created_at"))
    head = Session.objects.only("last_seq", "chain_head").get(pk=session.pk)
    entries = list(ContextEntry.objects.in_session(session).defer("metadata"))
    findings = Findings(sessions=1, entries=len(entries))
    if fault := fault_in(head, entries):
        findings.broken_chains.append(f"session {session.pk}: {fault}")
    _compare(findings, logs, SessionRequests([entry for entry in entries if entry.in_context]))
    return findings


def of_everything() -> Iterator[Findings]:
    """Session after session, then the calls that belong to none: memory holds one session at a time."""
    for session in Session.objects.only("pk").order_by("created_at", "pk").iterator(chunk_size=500):
        yield of_session(session)
    yield _without_session()


def _without_session() -> Findings:
    """Calls of no session keep their whole prompt; steps of deleted sessions went with their entries."""
    here = Session.objects.filter(pk=OuterRef("session_id"))
    others = LLMLog.objects.filter(Q(session_id=None) | ~Exists(here))
    findings = Findings(gone=others.filter(messages_blob="").exclude(session_id=None).count())
    kept = others.filter(Q(session_id=None) | ~Q(messages_blob=""))
    _compare(findings, kept.order_by("created_at").iterator(chunk_size=500), SessionRequests([]))
    return findings


def _compare(findings: Findings, logs: Iterable[LLMLog], requests: SessionRequests) -> None:
    for log in logs:
        findings.calls += 1
        if fault := _fault(log, requests):
            findings.mismatches.append(f"call {log.pk} ({log.purpose}, {log.created_at:%Y-%m-%d %H:%M:%S}): {fault}")


def _fault(log: LLMLog, requests: SessionRequests) -> str:
    try:
        body = requests.body(log)
    except NotRebuilt as error:
        return f"cannot be rebuilt: {error}."
    return "" if is_as_sent(log, body) else "the rebuilt request is not what was sent."


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
