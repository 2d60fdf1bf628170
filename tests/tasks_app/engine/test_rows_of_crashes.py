"""Crashes in a row end a task, but not if it makes progress between them."""

from collections.abc import Callable
from typing import Any

import pytest

from tasks_app import services
from tasks_app.engine import loop, run_tool, think
from tasks_app.worker import jobs
from tests.tasks_app.engine.conftest import Run, call, result
from tests.tasks_app.engine.test_crashes import crash

Play = Callable[..., Run]
Patch = pytest.MonkeyPatch
TOO_MANY = jobs.MOST_CRASHES + 1


def test_crashes_between_questions_are_not_in_a_row(play: Play, owner: Any, monkeypatch: Patch) -> None:
    run = play(*[call("message", type="ask", text=f"{number}?") for number in range(TOO_MANY)], result())
    for _ in range(TOO_MANY):
        crash(run, monkeypatch, think, "think")
        task = run.advance()
        assert (task.waiting_for, task.crashes) == ("reply", 0)
        services.reply(task, owner, "yes")
    assert run.advance().state == "done"


@pytest.mark.parametrize("reply", ["No call.", call("unknown_tool"), call("shell", command="mkfs /dev/sda")])
def test_an_interrupted_iteration_resets_the_crashes(play: Play, monkeypatch: Patch, reply: Any) -> None:
    run = play(reply, result())
    crash(run, monkeypatch, think, "think")
    slices = [True]
    monkeypatch.setattr(loop, "is_runnable", lambda task: bool(slices and slices.pop()))  # one iteration
    task = run.advance()
    assert task.is_active
    assert task.crashes == 0


def test_a_call_that_always_kills_its_worker_ends_the_task(play: Play, monkeypatch: Patch) -> None:
    run = play(*[call("shell", command=f"echo {number}") for number in range(TOO_MANY)], result())
    for _ in range(TOO_MANY):
        crash(run, monkeypatch, run_tool, "tool_context")
    assert run.advance().failure_code == "tool_crashed"
    assert {status for status, _ in run.results()} == {"unknown"}
