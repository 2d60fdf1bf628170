"""Verification of the record: each request equals the one that was sent, and each chain is unbroken."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef, Q, QuerySet

from llm_app.models import LLMLog
from tasks_app.models import ContextEntry, Session
from tasks_app.record import chain
from tasks_app.replay.requests import NotRebuilt, SessionRequests, is_as_sent


@dataclass(kw_only=True)
class Findings:
    """The counts of verified rows, and a sentence for each fault. `gone` counts calls of deleted sessions."""

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
    """Verify a session's chain and requests, or only these `calls`. Reads the record once."""
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
    """Verify all sessions, then the calls without a session. Memory holds one session at a time."""
    for session in Session.objects.only("pk").order_by("created_at", "pk").iterator(chunk_size=500):
        yield of_session(session)
    yield _without_session()


def _without_session() -> Findings:
    """Verify calls without a session, whose prompts are stored. Steps of deleted sessions were deleted with their
    entries.
    """
    sessions = Session.objects.filter(pk=OuterRef("session_id"))
    others = LLMLog.objects.filter(Q(session_id=None) | ~Exists(sessions))
    findings = Findings(gone=others.filter(messages_blob="").exclude(session_id=None).count())
    with_prompt = others.filter(Q(session_id=None) | ~Q(messages_blob=""))
    _compare(findings, with_prompt.order_by("created_at").iterator(chunk_size=500), SessionRequests([]))
    return findings


def _compare(findings: Findings, logs: Iterable[LLMLog], requests: SessionRequests) -> None:
    for log in logs:
        findings.calls += 1
        try:
            body = requests.body(log)
            fault = "" if is_as_sent(log, body) else "the rebuilt request is not what was sent."
        except NotRebuilt as error:
            fault = f"cannot be rebuilt: {error}."
        if fault:
            findings.mismatches.append(f"call {log.pk} ({log.purpose}, {log.created_at:%Y-%m-%d %H:%M:%S}): {fault}")


def fault_in(session: Session, entries: Iterable[ContextEntry]) -> str:
    """Return a sentence about the chain's first fault, or "".

    `entries` are all entries of the session in order. `session` must be read first: entries appended later are
    ignored.
    """
    predecessor, seq = "", 0
    for entry in entries:
        if entry.seq > session.last_seq:
            break
        if entry.seq != seq + 1:
            return f"The chain is broken at entry {seq + 1}: it is missing."
        if not chain.is_valid(entry, predecessor):
            return _broken(entry)
        predecessor, seq = entry.hash, entry.seq
    if seq < session.last_seq:
        return f"The tail is missing: entries {seq + 1} to {session.last_seq}."
    if predecessor != session.chain_head:
        return f"The session's head is not the hash of its newest entry, {seq}."
    return ""


def _broken(entry: ContextEntry) -> str:
    if not chain.has_key_of(entry):
        return (
            f"The chain cannot be checked from entry {entry.seq} on: its key {entry.hash_key!r} is not in "
            "FIELD_ENCRYPTION_KEY."
        )
    return f"The chain is broken at entry {entry.seq}: it is not what was appended there."
