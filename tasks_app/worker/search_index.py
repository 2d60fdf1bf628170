"""The background index of session search: terms from redacted text, some entries at a time.

A search itself reads entries that are not indexed yet. After a change of secrets, indexed entries are redacted again,
so that a secret saved later cannot be found by its letters.
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
from tasks_app.text.call_text import text_of_call
from tasks_app.text.retrieval import searched_terms

ENTRIES_PER_ROW = 64  # entries per row
QUIET_SECONDS = 30  # after which fewer entries are indexed, too
MOST_CHARACTERS = 200_000  # per row: PostgreSQL takes 1 MiB
ROUND_SECONDS = 0.2
_SESSIONS, _TEXTS = 20, 50  # batch sizes of the queries
_VERSION = "SELECT version FROM settings_version"
_FORMAT = "3"  # of the terms: rows of earlier formats are rebuilt, as after a change of secrets
_MOST_FILES = 2_000  # names of changed files per row


class SearchIndex:
    """The indexer of one process. Several can work at the same time; rows that another one has stored are skipped."""

    def __init__(self) -> None:
        self._version: int | None = None  # the settings version when `_renewed` was reset to 0
        self._renewed: int | None = 0  # primary key of the last renewed row; None: all are renewed

    def run_round(self) -> None:
        """Index for up to `ROUND_SECONDS`."""
        until = time.monotonic() + ROUND_SECONDS
        for step in (index_new_entries, self._renew):
            while time.monotonic() < until and step():
                pass

    def _renew(self) -> bool:
        """Redact the next rows again if secrets have changed. Return whether more rows remain."""
        with connection.cursor() as cursor:
            cursor.execute(_VERSION)
            (version,) = cursor.fetchone()
        if version != self._version:
            self._version, self._renewed = version, 0
        if self._renewed is None:
            return False
        texts = SessionText.objects.filter(pk__gt=self._renewed).select_related("session").defer("terms")
        rows = list(texts.order_by("pk")[:_TEXTS])
        versions = {session: _masked_with(redactor_of(session)) for session in {text.session for text in rows}}
        for text in rows:
            if text.masked_with != versions[text.session]:
                _redact_again(text)
        self._renewed = rows[-1].pk if rows else None
        return bool(rows)


def index_new_entries() -> bool:
    """Index new entries of some sessions. Return whether any were behind."""
    has_many_new = Q(last_seq__gte=F("indexed_seq") + ENTRIES_PER_ROW)
    is_quiet = Q(updated_at__lt=timezone.now() - timedelta(seconds=QUIET_SECONDS))
    sessions = list(Session.objects.behind().filter(has_many_new | is_quiet).order_by("?")[:_SESSIONS])
    for session in sessions:
        _index_session(session)
    return bool(sessions)


def _index_session(session: Session) -> None:
    """Index a session's next entries. A short last row is extended, so that a session has few rows."""
    texts = SessionText.objects.filter(session=session)
    last_row = texts.order_by("-first_seq").defer("terms").first()
    first = session.indexed_seq + 1
    if last_row is not None and last_row.last_seq - last_row.first_seq + 1 < ENTRIES_PER_ROW:
        first = last_row.first_seq
    last = min(first + ENTRIES_PER_ROW - 1, session.last_seq)
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
        if same.delete()[0]:  # else the row was extended in between, or the session is gone
            SessionText.objects.bulk_create(new)


def _texts(session: Session, first: int, last: int) -> Iterator[SessionText]:
    """Yield the index rows of an entry range: usually one, more if there are very many terms."""
    redactor = redactor_of(session)
    masked_with = _masked_with(redactor)
    rows = ContextEntry.objects.in_session(session).filter(seq__range=(first, last))
    refused = ToolCallLog.objects.filter(session_id=session.pk, status__in=REFUSED)
    withheld = set(refused.values_list("call_id", flat=True))
    terms: dict[str, None] = {}
    for entry in rows.only("content", "tool_call", "masked_with"):
        call_text = text_of_call(entry.tool_call) if entry.call and entry.call["id"] not in withheld else ""
        for text in filter(None, (entry.content, call_text)):
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
    """Yield the terms in parts of at most `MOST_CHARACTERS`. The only part may be empty."""
    ends = list(accumulate(len(term) + 1 for term in terms))
    parts = ends[-1] // MOST_CHARACTERS + 1 if ends else 1
    for part in range(parts):
        yield terms[bisect(ends, part * MOST_CHARACTERS) : bisect(ends, (part + 1) * MOST_CHARACTERS)]
