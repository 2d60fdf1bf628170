"""Delivery at least once: failing sinks receive events later, and killed processes lose none."""

import json
import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from tasks_app.models import ContextEntry, TraceSink
from tasks_app.record import append_entries, notice
from tasks_app.runtime import process
from tasks_app.tracing import delivery, sinks
from tests import factories
from tests.tasks_app.engine.conftest import call, result
from tests.tasks_app.tracing.receiver import said
from tests.waiting import until
from tools_app.models import AllowedAddress


def test_signed_request_has_the_events(play, sink, deliver, endpoint, server):
    main = sink("http")
    play(result()).advance()
    deliver(main)
    assert [event["type"] for event in endpoint.events][-2:] == ["final_answer", "task_ended"]
    assert server.received[0].body["sink"] == "main"


def test_failing_sink_receives_events_later(play, sink, deliver, endpoint):
    main, endpoint.status = sink("http"), 503
    run = play(result())
    assert run.advance().state == "done"
    deliver(main)
    assert (main.failures, main.cursor < ContextEntry.objects.latest("pk").pk) == (1, True)
    assert main.last_error.startswith("The server answered 503")
    assert main.next_at > timezone.now()
    assert main not in TraceSink.objects.due()
    assert deliver(main).failures == 2
    endpoint.status = 200
    deliver(main)
    assert (main.failures, main.lag) == (0, 0)
    assert {event["seq"] for event in endpoint.events} >= {1, run.entries[-1].seq}


def test_retry_after_is_respected(play, sink, deliver, server):
    answer = said(429)
    answer.headers = {"Retry-After": "120"}
    server.replies = [answer]
    main = sink("http")
    play(result()).advance()
    deliver(main)
    assert (main.next_at - timezone.now()).total_seconds() > 100


def test_events_are_sent_again_with_the_same_ids(play, sink, deliver, endpoint):
    main = sink("http")
    before = main.cursor
    play(result()).advance()
    deliver(main)
    once = list(endpoint.events)
    TraceSink.objects.update(cursor=before)  # the state after a kill
    deliver(main)
    assert endpoint.events == once + once


def test_claim_is_exclusive_and_ends_with_the_process(sink):
    main = sink("file")
    assert delivery.claim(main)
    assert not delivery.claim(main)
    TraceSink.objects.update(claimed_by="elsewhere:1234")
    main.refresh_from_db()
    assert not delivery.claim(main)
    TraceSink.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert delivery.claim(main)
    host = process.name().partition(":")[0]
    TraceSink.objects.update(claimed_by=f"{host}:{'0' * 32}", claimed_until=timezone.now() + timedelta(hours=1))
    main.refresh_from_db()
    assert delivery.claim(main)


def test_internal_address_must_be_allowed(play, sink, deliver, endpoint):
    AllowedAddress.objects.all().delete()
    main = sink("http")
    play(result()).advance()
    deliver(main)
    assert "is an internal address" in main.last_error
    assert endpoint.events == []


def test_key_in_an_answer_is_redacted(play, sink, deliver, server):
    server.replies = [said(500, "bad signature with a-key-that-signs")]
    main = sink("http")
    play(result()).advance()
    deliver(main)
    assert "a-key-that-signs" not in main.last_error


def test_long_file_is_rotated(play, sink, deliver):
    file = sink("file", max_bytes=10_000)
    for _ in range(7):
        play(call("message", type="info", text="x" * 9_000), result()).advance()
        deliver(file)
    names = sorted(path.name for path in file.path.parent.iterdir())
    assert names == ["main.jsonl", *(f"main.jsonl.{n}" for n in range(1, sinks.ROTATED_FILES + 1))]
    assert file.path.stat().st_mode & 0o077 == 0


def test_incomplete_line_is_removed(play, sink, deliver):
    file = sink("file")
    file.path.parent.mkdir(parents=True)
    file.path.write_text('{"whole": 1}\n{"half')
    play(result()).advance()
    deliver(file)
    first, second, *_ = [json.loads(line) for line in file.path.read_text().splitlines()]
    assert (first, second["type"]) == ({"whole": 1}, "task_started")


def test_due_sinks_are_sent_in_threads(play, sink, endpoint):
    main = sink("http")
    play(result()).advance()
    delivery.deliver_due()
    until(lambda: "task_ended" in [event["type"] for event in endpoint.events])
    until(lambda: TraceSink.objects.filter(pk=main.pk, claimed_by="").exists())
    assert list(TraceSink.objects.due()) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_late_commit_of_an_earlier_entry_is_sent(owner, sink, deliver, monkeypatch):
    monkeypatch.setattr(delivery, "_SETTLE_TIMEOUT", 0.1)
    file = sink("file")
    slow, quick = (factories.TaskFactory(session__owner=owner) for _ in range(2))
    holds, may_commit = threading.Event(), threading.Event()

    def write_slowly():
        with transaction.atomic():
            append_entries(slow.session, slow, [notice("slow")])
            holds.set()
            assert may_commit.wait(30)
        connection.close()

    thread = threading.Thread(target=write_slowly)
    thread.start()
    assert holds.wait(30)
    with transaction.atomic():
        append_entries(quick.session, quick, [notice("quick")])
    assert deliver(file).cursor == 0
    may_commit.set()
    thread.join()
    deliver(file)
    tasks = [json.loads(line)["task"] for line in file.path.read_text().splitlines()]
    assert tasks == [str(slow.pk), str(quick.pk)]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_unrelated_transaction_does_not_delay_events(owner, sink, deliver):
    import psycopg

    file = sink("file")
    task = factories.TaskFactory(session__owner=owner)
    with transaction.atomic():
        append_entries(task.session, task, [notice("said")])
    of_another_program = connection.get_connection_params() | {"dbname": "postgres"}
    of_another_program.pop("pool", None)
    with psycopg.connect(**of_another_program) as other:
        other.execute("SELECT pg_current_xact_id()")
        deliver(file)
    assert len(file.path.read_text().splitlines()) == 1


@pytest.mark.parametrize("wait", ["9" * 400, "99999999999"])
def test_requested_delay_is_limited(wait, play, sink, deliver, server):
    answer = said(429)
    answer.headers = {"Retry-After": wait}
    server.replies = [answer]
    main = sink("http")
    play(result()).advance()
    assert deliver(main).failures == 1
    assert main.next_at < timezone.now() + timedelta(hours=2)


def test_failed_events_are_retried_with_growing_delay(play, sink, monkeypatch):
    main = sink("file")
    play(result()).advance()
    assert delivery.claim(main)
    monkeypatch.setattr(delivery, "events_of", lambda entries: 1 / 0)
    delivery._deliver(main)
    main.refresh_from_db()
    assert (main.failures, main.claimed_by) == (1, "")
    assert main.next_at > timezone.now()
