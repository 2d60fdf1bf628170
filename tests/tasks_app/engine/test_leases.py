"""Leases when processes stall, end or wake up late, and when clocks jump."""

import threading
from datetime import timedelta

import pytest
from django.db import InterfaceError
from django.db.models import F
from django.utils import timezone

from tasks_app.engine import loop
from tasks_app.models import Task
from tasks_app.runtime import cancellation, lease, process
from tasks_app.worker import jobs, reaper, supervisor
from tasks_app.workspace.folders import workspace_of
from tests.provider import openai_result
from tests.tasks_app.engine.conftest import call, result
from tests.waiting import takes_less_than, until

HOUR = timedelta(hours=1)


@pytest.fixture
def woken(monkeypatch):
    """The tasks that the reaper wakes."""
    tasks = []
    monkeypatch.setattr(reaper, "enqueue", tasks.append)
    return tasks


def held_by(run, owner, **expires):
    end = timezone.now() + timedelta(**expires)
    Task.objects.filter(pk=run.task.pk).update(lease_owner=owner, lease_expires_at=end, epoch=F("epoch") + 1)


def test_a_lease_is_renewed_three_times_before_it_expires(settings):
    assert settings.LEASE_SECONDS == 15
    assert supervisor.SWEEP_SECONDS == 2


def test_the_sweep_finds_dead_processes_before_their_leases_expire(play, woken):
    run = play(result())
    held_by(run, process.name().split(":")[0] + ":gone", seconds=15)
    reaper.sweep()
    assert woken == [run.task.pk]
    assert run.advance().state == "done"


@pytest.mark.parametrize(
    ("silent_for", "state"),
    [({"seconds": 30}, "initializing"), ({"minutes": 15}, "failed")],
    ids=["its host sleeps", "its host is gone"],
)
@pytest.mark.parametrize("began", [True, False])
def test_tasks_of_another_hosts_dead_terminal_are_ended(play, woken, began, silent_for, state):
    run, terminal = play(result()), "another-host:1"
    ago = timezone.now() - timedelta(**silent_for)
    held = {"lease_owner": terminal, "lease_expires_at": ago, "epoch": 1} if began else {"created_at": ago}
    Task.objects.update(terminal=terminal, **held)
    reaper.sweep()
    assert set(woken) == ({run.task.pk} if state == "failed" else set())
    task = run.advance()
    assert (task.state, task.stopped) == (state, state == "failed")


def test_no_lease_is_held_while_files_are_counted(play, monkeypatch):
    owners = []
    monkeypatch.setattr(jobs, "update_usage", lambda session: owners.append(Task.objects.get().lease_owner))
    monkeypatch.setattr(loop, "TIME_SLICE", 0.0)
    assert play(result()).advance().is_active
    assert owners == [""]


def test_an_overlong_lease_is_shortened(play, woken, settings):
    run = play(result())
    held_by(run, "another-host:1", hours=1)
    reaper.sweep()
    run.task.refresh_from_db()
    assert run.task.lease_expires_at < timezone.now() + timedelta(seconds=settings.LEASE_SECONDS + 5)
    held_by(run, "another-host:1", seconds=settings.LEASE_SECONDS)
    before = Task.objects.get().lease_expires_at
    reaper.sweep()
    assert Task.objects.get().lease_expires_at == before


@pytest.mark.parametrize("field", ["created_at", "woken_at"])
def test_a_wake_up_from_the_future_counts_as_lost(play, woken, field):
    run = play(result())
    Task.objects.update(**{"admitted_at": timezone.now(), field: timezone.now() + HOUR})
    reaper.sweep()
    assert woken == [run.task.pk]


def test_a_worker_that_lost_its_lease_stops_its_work(ask_http, http_provider):
    http_provider.replies = [openai_result(stall_at=1)]
    run = ask_http()
    keeper = supervisor.WorkerThreads(sweeps=False)
    keeper.start()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    with takes_less_than(3):  # before the provider ends by itself
        held_by(run, "another-host:1", seconds=15)
        assert http_provider.hung_up.wait(30)
    thread.join(30)
    keeper.stop()
    assert run.types == ["user_message", "system_reminder"]
    assert Task.objects.get().lease_owner == "another-host:1"


def test_a_worker_suspended_before_a_tool_starts_nothing(play, settings):
    settings.LEASE_SECONDS = 0
    run = play(call("file", action="write", path="a.txt", content="Late."), result())
    assert run.advance().state == "executing_tool"
    assert not (workspace_of(run.task.session).root / "a.txt").exists()
    settings.LEASE_SECONDS = 15
    run.advance()
    assert [status for status, _ in run.results()] == ["unknown", "succeeded"]


def test_a_process_never_claims_a_task_that_it_runs(ask_http, http_provider):
    """The process was stopped for longer than its lease, and its first event is a wake-up."""
    http_provider.replies = [openai_result(stall_at=1)]
    run = ask_http()
    thread = run.in_thread()
    assert http_provider.stalling.wait(30)
    Task.objects.update(lease_expires_at=timezone.now() - HOUR)
    jobs.advance(run.task.pk)
    assert Task.objects.get().epoch == 1
    lease.renew([run.task.pk])
    http_provider.go_on()
    thread.join(30)
    assert Task.objects.get().state == "done"


def test_a_draining_worker_finishes_its_step_and_releases_the_task(play, monkeypatch):
    run = play(call("plan", action="advance"), call("plan", action="advance"), result())
    draining, advance = threading.Event(), loop.advance
    monkeypatch.setattr(process, "_draining", draining)

    def last(context):
        advance(context)
        draining.set()

    monkeypatch.setattr(loop, "advance", last)
    woken = []
    monkeypatch.setattr(jobs, "enqueue", woken.append)
    task = run.advance()
    assert (task.state, task.lease_owner, task.crashes) == ("thinking", "", 0)
    assert len(run.results()) == 1
    run.advance()
    assert len(run.results()) == 1
    assert woken == [run.task.pk] * 2
    draining.clear()
    monkeypatch.setattr(loop, "advance", advance)
    assert run.advance().state == "done"


def test_a_broken_connection_fails_no_task(play, monkeypatch):
    run = play(result())
    with monkeypatch.context() as patch:
        patch.setattr(loop, "finalize", lambda context: (_ for _ in ()).throw(InterfaceError("connection is closed")))
        patch.setattr(jobs, "enqueue", lambda task_id: None)
        assert run.advance().state == "finalizing"
    assert run.advance().state == "done"


def test_errors_do_not_end_the_supervisor(monkeypatch):
    rounds = []

    def work(has_rung):
        rounds.append(has_rung)
        raise RuntimeError("a fault of ours")

    thread = supervisor.RepeatingThread("test", work, 0.01, threading.Event())
    thread.start()
    until(lambda: len(rounds) > 2)
    thread.stop()
    assert not thread.is_alive()


def test_a_failed_renewal_is_repeated_in_the_next_round(play, monkeypatch):
    run = play(result())
    faults, tried = [InterfaceError("the connection is closed")], []

    def renew(task_ids):
        tried.extend(task_ids)
        if faults:
            raise faults.pop()

    monkeypatch.setattr(lease, "renew", renew)
    monkeypatch.setattr(cancellation, "running_tasks", lambda: [run.task.pk])
    renewing = supervisor.WorkerThreads(sweeps=False)
    with pytest.raises(InterfaceError):
        renewing._round(False)
    renewing._round(False)
    renewing._round(False)  # which comes too early
    assert tried == [run.task.pk] * 2
