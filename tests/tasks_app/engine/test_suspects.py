"""Suspects: tasks under which the server died twice run alone, one after the other, within bounds."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from tasks_app.models import Task
from tasks_app.runtime import process, suspects
from tasks_app.runtime.suspects import MOST_CRASHES, PATIENCE, SuspectIsolation
from tasks_app.worker import jobs, reaper
from tests import factories
from tests.tasks_app.engine.conftest import Run, call, result

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def task(pk: UUID, crashes: int = 0, **fields: Any) -> Task:
    return Task(pk=pk, crashes=crashes, **fields)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(suspects, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def test_tasks_run_in_parallel_without_a_suspect() -> None:
    here = SuspectIsolation()
    assert here.enter(task(A))
    assert here.enter(task(B, crashes=1))
    assert here.leave(A) == set()


def test_a_suspect_waits_for_the_others_and_runs_alone() -> None:
    here = SuspectIsolation()
    here.enter(task(A))
    assert not here.enter(task(B, crashes=2))
    assert not here.enter(task(C))
    assert here.leave(A) == {B, C}
    assert here.enter(task(B, crashes=2))
    assert not here.enter(task(C))
    assert not here.enter(task(A, crashes=2))
    assert here.leave(B) == {A, C}
    assert here.enter(task(C))


def test_suspects_and_others_wait_at_most_a_minute(clock: list[float]) -> None:
    here = SuspectIsolation()
    here.enter(task(A))
    assert not here.enter(task(B, crashes=2))
    clock[0] += PATIENCE + 1
    assert here.enter(task(B, crashes=2))
    assert not here.enter(task(C))
    clock[0] += PATIENCE + 1
    assert here.enter(task(C))


@pytest.mark.parametrize(
    "fields", [{"crashes": MOST_CRASHES + 1}, {"crashes": 2, "stop_requested_at": datetime.now(UTC)}]
)
def test_an_ending_task_waits_for_no_suspect(fields: Any) -> None:
    here = SuspectIsolation()
    here.enter(task(A, crashes=2))
    assert here.enter(task(B, **fields))


def test_a_lost_suspect_is_forgotten(clock: list[float]) -> None:
    here = SuspectIsolation()
    here.enter(task(A))
    here.enter(task(B, crashes=2))
    here.leave(A)
    assert not here.enter(task(C))
    clock[0] += PATIENCE + 1
    assert here.enter(task(C))


# --- with the engine ------------------------------------------------------------------------------------------------


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    found: list[UUID] = []
    for module in (suspects, jobs, reaper):
        monkeypatch.setattr(module, "enqueue", found.append)
    return found


def test_a_suspects_slice_ends_with_its_first_result(play: Any, woken: list[UUID]) -> None:
    run: Run = play(call("file", action="list", path="."), call("plan", action="advance"), result())
    Task.objects.filter(pk=run.task.pk).update(crashes=2)
    run.advance()
    assert (len(run.results()), run.task.crashes, run.task.lease_owner) == (1, 0, "")
    assert woken == [run.task.pk]
    assert run.advance().state == "done"


def test_a_task_that_waits_for_a_suspect_holds_no_lease(play: Any, woken: list[UUID]) -> None:
    run: Run = play(result())
    with suspects.isolating_suspects(task(A, crashes=2)) as may_run:
        assert may_run
        run.advance()
        assert (run.task.state, run.task.lease_owner, run.task.crashes) == ("initializing", "", 0)
        assert woken == []
    assert woken == [run.task.pk]
    assert run.advance().state == "done"


def test_suspects_with_the_fewest_crashes_start_first(owner: Any, woken: list[UUID]) -> None:
    began = timezone.now()
    dead = f"{process.name().partition(':')[0]}:gone"
    crashes = {"tried twice": (3, ""), "none": (0, ""), "once": (0, dead), "tried once": (2, dead), "twice": (1, dead)}
    tasks = {
        name: factories.TaskFactory(
            session__owner=owner, crashes=count, lease_owner=holder, lease_expires_at=began, admitted_at=began
        )
        for name, (count, holder) in crashes.items()
    }
    reaper.start()
    names = {row.pk: name for name, row in tasks.items()}
    assert [names[pk] for pk in woken] == ["twice", "tried twice", "tried once", "none", "once"]
