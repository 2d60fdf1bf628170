"""Crashes of a worker: nothing is lost, doubled or stuck, and an unknown outcome is reported as unknown."""

import json
import subprocess
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.models import ContextType, EngineProcess, Task, ToolCallLog
from tasks_app.run import UnitOfWork
from tasks_app.runtime import admission, broadcast, lease, process
from tasks_app.worker import jobs, reaper
from tests.tasks_app.engine.conftest import call, result
from tools_app.sandbox import ProcessIdentity, supervision


class Killed(BaseException):
    """A stand-in for `kill -9`: no code of ours catches it, and nothing is cleaned up."""


def die(*args, **kwargs):
    raise Killed


def crash(run, monkeypatch, where, name):
    """Advance until `where.name` is called, and die there. Then the lease expires."""
    with monkeypatch.context() as patch:
        patch.setattr(where, name, die)
        patch.setattr(lease, "release", lambda task: None)
        with pytest.raises(Killed):
            jobs.advance(run.task.pk)
    Task.objects.filter(pk=run.task.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))


def test_a_moderate_tool_that_was_running_has_an_unknown_outcome_and_does_not_run_again(play, monkeypatch):
    run = play(call("file", action="write", path="a.txt", content="x"), result())
    crash(run, monkeypatch, run_tool, "tool_context")
    assert ToolCallLog.objects.get().status == "started"
    assert run.advance().state == "done"
    status, content = run.results()[0]
    assert status == "unknown"
    assert "check before you repeat" in content


def test_a_safe_tool_that_was_running_runs_again(play, monkeypatch):
    run = play(call("file", action="list", path="."), result())
    crash(run, monkeypatch, run_tool, "tool_context")
    assert run.advance().state == "done"
    assert run.results()[0][0] == "succeeded"


def test_a_crash_anywhere_leaves_one_result_per_call_and_no_gap(play, monkeypatch):
    for where, name in ((run_tool, "tool_context"), (run_tool, "within_budget"), (run_tool.effects, "apply")):
        run = play(call("file", action="list", path="."), call("plan", action="advance"), result())
        crash(run, monkeypatch, where, name)
        assert run.advance().state == "done"
    seqs = [entry.seq for entry in run.entries]
    assert seqs == list(range(1, len(seqs) + 1))
    calls = [entry.call["id"] for entry in run.entries if entry.call]
    assert sorted(calls) == sorted(entry.tool_call_id for entry in run.entries if entry.tool_call_id)


def test_files_of_a_crash_do_not_prevent_a_start(play, settings):
    run = play(result())
    (settings.RUN_DIR / "serve.lock").write_text("http://127.0.0.1:8000")
    (settings.RUN_DIR / ("a" * 32)).write_text('{"pid": 12')
    reaper.start()
    assert not (settings.RUN_DIR / ("a" * 32)).exists()
    assert run.advance().state == "done"


ELSEWHERE = f"elsewhere:{'b' * 32}"


@pytest.fixture
def of_another_host(settings):
    """The lock file of another host's worker, in a shared folder. Its lock is not visible here."""
    path = settings.RUN_DIR / ("b" * 32)
    path.write_text('{"host": "elsewhere"}\n')
    yield path
    path.unlink(missing_ok=True)


def seen(name, seconds_ago):
    EngineProcess.objects.beat(name)
    EngineProcess.objects.filter(pk=name).update(seen_at=timezone.now() - timedelta(seconds=seconds_ago))


@pytest.mark.parametrize("look", [reaper.start, reaper.sweep])
@pytest.mark.parametrize("silent_for", [None, 1, 60])  # None: no heartbeat yet
def test_a_worker_of_another_host_is_alive_though_its_file_can_be_locked(play, of_another_host, look, silent_for):
    run = play(result())
    lease.claim(run.task.pk)
    Task.objects.filter(pk=run.task.pk).update(lease_owner=ELSEWHERE)  # just renewed
    if silent_for is not None:
        seen(ELSEWHERE, silent_for)
    look()
    assert of_another_host.exists()
    assert lease.claim(run.task.pk) is None


@pytest.mark.parametrize("look", [reaper.start, reaper.sweep])
def test_the_file_of_a_dead_host_is_removed_after_its_leases(play, of_another_host, look):
    run = play(result())
    lease.claim(run.task.pk)
    seen(ELSEWHERE, 60)
    Task.objects.filter(pk=run.task.pk).update(
        lease_owner=ELSEWHERE, lease_expires_at=timezone.now() - timedelta(seconds=1)
    )
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as same_pid_here:
        group = supervision.process_identity(same_pid_here.pid)
        with of_another_host.open("a") as file:
            file.write(json.dumps({"pid": group.pid, "start_time": group.start_time}) + "\n")
        look()
        assert not of_another_host.exists()
        assert same_pid_here.poll() is None
        same_pid_here.kill()
    assert lease.claim(run.task.pk) is not None


def test_a_removed_lock_file_is_restored_with_its_content(settings):
    name = process.name()
    path = settings.RUN_DIR / name.partition(":")[2]
    process.record_group(ProcessIdentity(pid=1, start_time=2))
    before = path.read_text()
    path.unlink()
    assert process.name() == name
    assert path.read_text() == before
    assert not process.is_dead(name)


def test_a_question_survives_a_restart(play, owner):
    run = play(call("message", type="ask", text="?"), result())
    run.advance()
    reaper.start()
    run.advance()
    assert run.task.waiting_for == "reply"
    services.reply(run.task, owner, "yes")
    assert run.advance().state == "done"


def test_a_poison_task_fails_after_a_bounded_number_of_crashes(play, monkeypatch):
    run = play(call("file", action="list", path="."), result())
    for _ in range(jobs.MOST_CRASHES + 1):
        crash(run, monkeypatch, run_tool, "tool_context")
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "tool_crashed")
    assert run.results()[0][0] == "unknown"


def test_a_held_task_is_not_claimed_twice(play):
    run = play(result())
    assert lease.claim(run.task.pk) is not None
    assert lease.claim(run.task.pk) is None


def test_a_write_with_an_old_epoch_is_refused(play):
    run = play(result())
    old = lease.claim(run.task.pk)
    Task.objects.filter(pk=run.task.pk).update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    lease.claim(run.task.pk)
    with pytest.raises(lease.StaleLease):
        lease.write(old, state="thinking")


def test_the_lease_of_a_dead_process_ends_immediately(play, monkeypatch):
    run = play(result())
    lease.claim(run.task.pk)
    host = process.name().split(":")[0]
    Task.objects.filter(pk=run.task.pk).update(lease_owner=f"{host}:gone")
    assert run.advance().state == "done"


def test_the_reaper_wakes_runnable_unclaimed_tasks(play, monkeypatch):
    run = play(result())
    woken = []
    monkeypatch.setattr(reaper, "enqueue", woken.append)
    monkeypatch.setattr(admission, "enqueue", woken.append)
    reaper.sweep()
    assert woken == [run.task.pk]  # so that it is admitted
    reaper.sweep()
    assert woken == [run.task.pk]  # this wake-up is too recent to count as lost
    Task.objects.update(woken_at=timezone.now() - timedelta(minutes=1))
    reaper.sweep()
    reaper.sweep()
    assert woken == [run.task.pk] * 2


def test_finalizing_continues_after_a_crash(play, monkeypatch):
    from tasks_app.engine import loop

    run = play(result("It is done."))
    crash(run, monkeypatch, loop, "finalize")
    assert run.advance().state == "done"
    assert run.task.final_result["text"] == "It is done."


def test_a_stream_before_a_database_failure_is_withdrawn(play, monkeypatch):
    told, send, write = [], broadcast.send, UnitOfWork._write

    async def hear(group, message):
        told.append((group, message))
        await send(group, message)

    def fails_once(unit, drafts, *about):
        if any(draft.context_type == ContextType.AI_MESSAGE for draft in drafts):
            monkeypatch.setattr(UnitOfWork, "_write", write)
            raise OperationalError("server closed the connection unexpectedly")
        return write(unit, drafts, *about)

    monkeypatch.setattr(broadcast, "is_followed", lambda group: True)
    monkeypatch.setattr(broadcast, "send", hear)
    monkeypatch.setattr(UnitOfWork, "_write", fails_once)
    run = play(result("This is the answer, and it is long enough to be streamed."))
    run.advance()
    assert run.advance().state == "done"
    here = [message for group, message in told if group == run.task.session.group]
    first, *_ = (one["stream"] for one in here if one["type"] == "delta")
    assert [one["stream"] for one in here if one["type"] == "reset"] == [first]
    recorded = {entry.metadata["stream"] for entry in run.entries if "stream" in entry.metadata}
    assert recorded
    assert first not in recorded
