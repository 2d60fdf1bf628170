"""The probes of load balancers: alive touches nothing, ready checks all that a message needs."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.plugin import DjangoDbBlocker

from tasks_app.models import EngineProcess
from tasks_app.worker import supervisor
from tests.waiting import until

OK = {"database": "ok", "broker": "ok", "worker": "ok"}


def seen(seconds_ago: float, name: str = "another-host:1") -> EngineProcess:
    when = timezone.now() - timedelta(seconds=seconds_ago)
    return EngineProcess.objects.create(name=name, seen_at=when)


def test_alive_answers_without_a_database(django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.block():
        answer = Client().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_ready_with_a_recent_heartbeat(db: None) -> None:
    seen(1)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "checks": OK})
    assert "no-store" in answer["Cache-Control"]


def test_not_ready_without_a_worker(db: None) -> None:
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "not ok", "checks": OK | {"worker": "not ok"}})


def test_not_ready_without_recent_heartbeats(db: None) -> None:
    seen(60)
    assert Client().get("/readyz").status_code == 503


def test_heartbeat_in_the_future_does_not_count(db: None) -> None:
    seen(-3600)
    assert Client().get("/readyz").status_code == 503


def test_local_process_without_a_lock_file_is_dead_immediately(db: None) -> None:
    import socket

    seen(1, f"{socket.gethostname()}:no-such-file")
    assert Client().get("/readyz").status_code == 503


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_reject_post(path: str) -> None:
    assert Client().post(path).status_code == 405


@pytest.mark.django_db(transaction=True)
def test_keeper_sends_heartbeats(settings: Any) -> None:
    watching = supervisor.WorkerThreads()
    watching.start()
    until(lambda: EngineProcess.objects.alive().exists())
    watching.stop()
    assert Client().get("/readyz").status_code == 200


def test_first_heartbeat_deletes_old_processes(db: None) -> None:
    seen(2 * 24 * 3600, "long ago")
    seen(3600, "an hour ago")
    EngineProcess.objects.beat("now")
    EngineProcess.objects.beat("now")
    assert set(EngineProcess.objects.values_list("pk", flat=True)) == {"an hour ago", "now"}
