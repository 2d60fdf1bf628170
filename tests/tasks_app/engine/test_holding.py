"""Held resources: a session's tasks are left to the worker that holds, for example, its open page."""

import socket
from collections.abc import Callable, Iterator

import pytest

from tasks_app.models import EngineProcess, Session, TaskState
from tasks_app.run import affinity
from tasks_app.runtime import process
from tasks_app.worker.supervisor import WorkerThreads
from tests.tasks_app.engine.conftest import Run, result
from tests.waiting import until

Play = Callable[..., Run]


def held_by(run: Run, name: str) -> None:
    Session.objects.filter(pk=run.task.session_id).update(held_by=name, held={"page": "the page"})


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that are broadcast to all workers."""
    told: list[str] = []
    monkeypatch.setattr("tasks_app.runtime.wakeup._broadcast", lambda command, task_id: told.append(command))
    return told


@pytest.fixture
def keeper() -> Iterator[WorkerThreads]:
    keeper = WorkerThreads()
    keeper.start()
    yield keeper
    keeper.stop()


def test_a_task_is_left_to_the_live_worker_that_holds_its_page(play: Play, told: list[str]) -> None:
    run = play(result())
    EngineProcess.objects.beat("other-host:holder")
    held_by(run, "other-host:holder")
    assert run.advance().state == TaskState.INITIALIZING
    assert told == ["look_after"]


@pytest.mark.parametrize("holder", ["other-host:silent", f"{socket.gethostname()}:{'0' * 32}"])
def test_a_dead_worker_holds_nothing(play: Play, told: list[str], holder: str) -> None:
    run = play(result())
    if "silent" not in holder:
        EngineProcess.objects.beat(holder)  # a recent heartbeat, but no lock file
    held_by(run, holder)
    assert run.advance().state == TaskState.DONE
    assert told == []


def test_the_holder_runs_its_task_even_if_the_page_is_closed(play: Play, keeper: WorkerThreads) -> None:
    run = play(result())
    held_by(run, process.name())
    affinity.task_waiting.set()

    def is_done() -> bool:
        run.task.refresh_from_db()
        return run.task.state == TaskState.DONE

    assert until(is_done, 30)


def test_a_worker_that_drains_gives_up_what_it_holds(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    run = play(result())
    held_by(run, process.name())
    woken: list[object] = []
    monkeypatch.setattr(process, "is_draining", lambda: True)
    monkeypatch.setattr("tasks_app.worker.supervisor.enqueue", woken.append)
    WorkerThreads()._advance_held_tasks(also_queued=True)
    assert woken == [run.task.pk]
    run.task.session.refresh_from_db()
    assert (run.task.session.held_by, run.task.session.held) == (
        "",
        {"page": "the page"},
    )  # which the next result reports
