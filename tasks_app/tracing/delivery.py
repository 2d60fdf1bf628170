"""Delivery of new entries to sinks: at least once, in order, by one process at a time.

Running tasks write nothing for it besides the record. The cursor moves after events have arrived, so a killed process
loses none. The next process that claims the sink sends these again, under the same ids.
"""

import logging
import random
import threading
import time
from datetime import timedelta
from functools import partial

from django.db import connection
from django.db.models import F, Max, Q
from django.db.models.functions import Now
from django.utils import timezone

from llm_app import active_secrets
from tasks_app.models import ContextEntry, SinkKind, TraceSink
from tasks_app.models.trace_sink import CLAIM_DURATION
from tasks_app.runtime import process
from tasks_app.tracing.events import events_of
from tasks_app.tracing.sinks import SinkFailed, send

logger = logging.getLogger(__name__)
BATCH_SIZE = 100  # entries
MAX_RETRY_DELAY = 300.0  # seconds between two attempts
MAX_REQUESTED_DELAY = 3600.0  # seconds, if the server asks for a delay
_SETTLE_TIMEOUT, _SETTLE_INTERVAL = 2.0, 0.02  # seconds to wait for open transactions, and between two checks


def deliver_due() -> None:
    """Send to the due sinks, each in a separate thread, so that a slow sink does not delay others."""
    for sink in TraceSink.objects.due():
        if claim(sink):
            threading.Thread(target=partial(_deliver, sink), name=f"trace-{sink}", daemon=True).start()


def claim(sink: TraceSink) -> bool:
    """Claim the sink for this process. Return whether it was free or its holder is dead."""
    free = Q(claimed_by="") | Q(claimed_until__lt=Now())
    if process.is_dead(sink.claimed_by):
        free |= Q(claimed_by=sink.claimed_by)
    rows = TraceSink.objects.filter(free, pk=sink.pk, enabled=True)
    return bool(rows.update(claimed_by=process.name(), claimed_until=Now() + CLAIM_DURATION))


def _deliver(sink: TraceSink) -> None:
    try:
        deliver(sink)
    except Exception:
        logger.exception("could not build events for trace sink %s (retrying)", sink)
        _note_failure(sink, SinkFailed("The events could not be made: the log of the server says why."))
    finally:
        TraceSink.objects.filter(pk=sink.pk, claimed_by=process.name()).update(claimed_by="")
        connection.close()


def deliver(sink: TraceSink) -> None:
    """Send to a claimed sink until it is up to date or fails."""
    sink.refresh_from_db()
    while not process.is_draining() and (entries := _new_entries(sink.cursor)):
        events = list(events_of(entries))
        if sink.events and sink.kind != SinkKind.OTLP:  # OpenTelemetry spans ignore the sink's list of events
            events = [event for event in events if event["type"] in sink.events]
        try:
            refused = send(sink, events) if events else ""
        except SinkFailed as failure:
            return _note_failure(sink, failure)
        if not _advance_cursor(sink, entries[-1].pk, len(events), refused):
            return None  # disabled, or claimed by another process
    return None


def _advance_cursor(sink: TraceSink, cursor: int, count: int, refused: str) -> bool:
    error_fields = {"last_error": _redacted(refused), "last_error_at": timezone.now()} if refused else {}
    rows = TraceSink.objects.filter(pk=sink.pk, cursor=sink.cursor, claimed_by=process.name(), enabled=True)
    updated = rows.update(
        cursor=cursor,
        delivered=F("delivered") + count,
        delivered_at=timezone.now(),
        failures=0,
        claimed_until=Now() + CLAIM_DURATION,
        **error_fields,
    )
    sink.cursor, sink.failures = cursor, 0
    return bool(updated)


def _note_failure(sink: TraceSink, failure: SinkFailed) -> None:
    """Record a failure. The delay doubles each time and is randomized."""
    delay = min(MAX_RETRY_DELAY, 2 ** min(sink.failures, 10) * random.uniform(0.5, 1.5))  # noqa: S311
    delay = max(delay, min(failure.after, MAX_REQUESTED_DELAY))
    logger.warning("could not send to trace sink %s (next attempt in %.0f s): %s", sink, delay, failure)
    TraceSink.objects.filter(pk=sink.pk).update(
        failures=F("failures") + 1,
        last_error=_redacted(str(failure)),
        last_error_at=timezone.now(),
        next_at=Now() + timedelta(seconds=delay),
    )


def _redacted(text: str) -> str:
    """Redact an answer: a server may repeat the request, including the key."""
    return active_secrets.for_everyone().redactor.redacted(text)


def _new_entries(cursor: int) -> list[ContextEntry]:
    """Return the next entries whose order is final, because no open transaction can insert before them."""
    newest = ContextEntry.objects.aggregate(newest=Max("pk"))["newest"] or 0
    if newest <= cursor or not _is_settled():
        return []
    entries = ContextEntry.objects.filter(pk__gt=cursor, pk__lte=newest).order_by("pk")
    related = ("session__agent", "session__model", "task__started_by", "task__session", "task__parent_call")
    return list(entries.select_related(*related)[:BATCH_SIZE])


def _is_settled() -> bool:
    """Return whether no entry can still be committed with an id below the newest one.

    SQLite has one writer at a time. On PostgreSQL, a transaction may take an id and commit after one with a later id.
    It locks the table before it takes an id, until it ends. So wait until all current holders of such a lock have
    ended.
    """
    if connection.vendor != "postgresql":
        return True
    writing, deadline = _writing(), time.monotonic() + _SETTLE_TIMEOUT
    while writing:
        if time.monotonic() > deadline:
            return False
        time.sleep(_SETTLE_INTERVAL)
        writing &= _writing()
    return True


def _writing() -> set[str]:
    """Return the other transactions that have begun to write entries."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT virtualtransaction FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
            " WHERE datname = current_database() AND relation = %s::regclass AND mode = 'RowExclusiveLock'"
            " AND pid <> pg_backend_pid()",
            [ContextEntry._meta.db_table],
        )
        return {row[0] for row in cursor.fetchall()}
