"""Puts together what sessions are found by: in the background, some entries at a time, out of redacted text.

A search reads entries that were not yet taken up itself. After a change of secrets, what was taken up before is
redacted again: a secret that was saved later is not found by its letters.
"""

import time
from bisect import bisect
from collections.abc import Iterator
from datetime import timedelta
from itertools import accumulate

from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from llm_app.redaction import Redactor
from tasks_app.models import REFUSED, ContextEntry, FileChange, Session, SessionText, ToolCallLog
from tasks_app.record import redactor_of
from tasks_app.text.retrieval import searched_terms
from tasks_app.text.said import said_in

AT_ONCE = 64  # entries, whose terms make one row
QUIET_SECONDS = 30  # then fewer are taken up, too
MOST_CHARACTERS = 200_000  # of a row: PostgreSQL takes 1 MiB
ROUND_SECONDS = 0.2
_SESSIONS, _TEXTS = 20, 50  # that are looked up at once
_VERSION = "SELECT version FROM settings_version"
_FORMAT = "3"  # of the terms: rows of an earlier one are made anew, as after a change of secrets
_MOST_FILES = 2_000  # names of changed files in a row


class SearchIndex:
    """Of one process. Several may work at once: what another one was faster with is not stored twice."""

    def __init__(self) -> None:
        self._version: int | None = None  # of the settings, when `_renewed` began at 0
        self._renewed: int | None = 0  # up to which text; None: all

    def work(self) -> None:
        """For a moment."""
        until = time.monotonic() + ROUND_SECONDS
        for step in (take_up, self._renew):
            while time.monotonic() < until and step():
                pass

    def _renew(self) -> bool:
        """Whether there is more to do."""
        with connection.cursor() as cursor:
            cursor.execute(_VERSION)
            (version,) = cursor.fetchone()
        if version != self._version:
            self._version, self._renewed = version, 0
        if self._renewed is None:
            return False
        texts = SessionText.objects.filter(pk__gt=self._renewed).select_related("session").defer("terms")
        found = list(texts.order_by("pk")[:_TEXTS])
        versions = {session: _masked_with(redactor_of(session)) for session in {text.session for text in found}}
        for text in found:
            if text.masked_with != versions[text.session]:
                _redact_again(text)
        self._renewed = found[-1].pk if found else None
        return bool(found)


def take_up() -> bool:
    """Whether there was something to do."""
    many = Q(last_seq__gte=F("indexed_seq") + AT_ONCE)
    quiet = Q(updated_at__lt=timezone.now() - timedelta(seconds=QUIET_SECONDS))
    sessions = list(Session.objects.behind().filter(many | quiet).order_by("?")[:_SESSIONS])
    for session in sessions:
        _take_up_some(session)
    return bool(sessions)


def _take_up_some(session: Session) -> None:
    """With the last row as long as it is short: so a session has few of them."""
    texts = SessionText.objects.filter(session=session)
    last_row = texts.order_by("-first_seq").defer("terms").first()
    first = session.indexed_seq + 1
    if last_row is not None and last_row.last_seq - last_row.first_seq + 1 < AT_ONCE:
        first = last_row.first_seq
    last = min(first + AT_ONCE - 1, session.last_seq)
    new = list(_texts(session, first, last))
    with transaction.atomic():
        if Session.objects.filter(pk=session.pk, indexed_seq=session.indexed_seq).update(indexed_seq=last):
            texts.filter(first_seq__gte=first).delete()
            SessionText.objects.bulk_create(new)


def _redact_again(text: SessionText) -> None:
    new = list(_texts(text.session, text.first_seq, text.last_seq))
    same = SessionText.objects.filter(session=text.session, first_seq=text.first_seq, last_seq=text.last_seq)
    if len(new) == 1 and same.filter(terms=new[0].terms).update(masked_with=new[0].masked_with):
        return
    with transaction.atomic():
        if same.delete()[0]:  # else it was extended meanwhile, or the session is gone
            SessionText.objects.bulk_create(new)


def _texts(session: Session, first: int, last: int) -> Iterator[SessionText]:
    """More than one only where there are very many terms."""
    redactor = redactor_of(session)
    masked_with = _masked_with(redactor)
    rows = ContextEntry.objects.in_session(session).filter(seq__range=(first, last))
    refused = ToolCallLog.objects.filter(session_id=session.pk, status__in=REFUSED)
    withheld = set(refused.values_list("call_id", flat=True))
    terms: dict[str, None] = {}
    for entry in rows.only("content", "tool_call", "masked_with"):
        said = said_in(entry.tool_call) if entry.call and entry.call["id"] not in withheld else ""
        for text in filter(None, (entry.content, said)):
            terms |= dict.fromkeys(
                searched_terms(text if entry.masked_with == redactor.version else redactor.redacted(text))
            )
    changes = FileChange.objects.filter(change__session=session, change__seq__range=(first - 1, last))
    for path in changes.order_by().values_list("path", flat=True).distinct()[:_MOST_FILES]:
        terms |= dict.fromkeys(searched_terms(redactor.redacted(path)))
    for part in _parts(list(terms)):
        yield SessionText(
            session=session, first_seq=first, last_seq=last, terms=" ".join(part), masked_with=masked_with
        )


def _masked_with(redactor: Redactor) -> str:
    return f"{_FORMAT}{redactor.version}"[:16]


def _parts(terms: list[str]) -> Iterator[list[str]]:
    """At least one, which may be empty."""
    ends = list(accumulate(len(term) + 1 for term in terms))
    parts = ends[-1] // MOST_CHARACTERS + 1 if ends else 1
    for part in range(parts):
        yield terms[bisect(ends, part * MOST_CHARACTERS) : bisect(ends, (part + 1) * MOST_CHARACTERS)]
