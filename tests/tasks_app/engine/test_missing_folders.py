"""Folders that are missing or replaced by a link: no task runs forever because of them."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks_app import services
from tasks_app.engine import run_tool
from tasks_app.engine.capabilities.tool_context import tool_context
from tasks_app.models import Session, Task
from tasks_app.worker import jobs
from tasks_app.workspace import folders
from tests.tasks_app.engine.conftest import Run, call, result
from tests.tasks_app.engine.test_crashes import crash
from tests.tasks_app.engine.test_delegation import children_of, part, work_off

Play = Callable[..., Run]
Patch = pytest.MonkeyPatch


@pytest.fixture
def share(play: Play, tmp_path: Path, monkeypatch: Patch) -> Path:
    """The folder that the session of `play` works in. The server checks its owner, as it does when it runs as root."""
    folder = tmp_path / "share"
    folder.mkdir()
    Session.objects.update(workdir=str(folder))
    monkeypatch.setattr(folders, "workspace_owner", lambda: (os.geteuid(), os.getegid()))
    return folder


def replace_by_a_link(folder: Path) -> None:
    if not folder.is_symlink():
        folder.rename(folder.with_suffix(".old"))
        folder.symlink_to(folder.with_suffix(".old"))


def test_a_task_without_its_folder_fails_until_it_is_back(play: Play, share: Path, owner: Any) -> None:
    run = play(result())
    share.rmdir()
    task = run.advance()
    assert (task.state, task.failure_code, task.crashes, task.lease_owner) == ("failed", "internal", 0, "")
    share.mkdir()
    assert play(result()).advance().state == "done"


def test_a_stop_ends_a_task_without_its_folder_and_its_session_can_be_deleted(play: Play, share: Path) -> None:
    run = play(result())
    share.rmdir()
    services.stop(run.task)
    task = run.advance()
    assert (task.state, task.failure_code, task.stopped) == ("failed", "stopped", True)
    services.delete_session(task.session)
    assert not Task.objects.exists()


def test_an_open_call_has_its_result_without_the_folder(play: Play, share: Path, monkeypatch: Patch) -> None:
    run = play(call("shell", command="true"), result())
    crash(run, monkeypatch, run_tool, "tool_context")
    shutil.rmtree(share)
    assert run.advance().failure_code == "internal"
    assert [status for status, _ in run.results()] == ["unknown"]


def test_a_stop_ends_a_tree_without_its_folder(play: Play, share: Path) -> None:
    run = play(call("delegate", tasks=[part(result()), part(result())]), result())
    run.advance()
    shutil.rmtree(share)
    services.stop(run.task)
    run.advance()
    work_off(run)
    assert {(task.state, task.stopped) for task in Task.objects.all()} == {("failed", True)}
    assert [status for status, _ in run.results()] == ["interrupted"]


def test_a_task_that_crashes_without_its_folder_is_given_up(play: Play, share: Path, monkeypatch: Patch) -> None:
    run = play(call("file", action="list", path="."), result())
    for _ in range(jobs.MOST_CRASHES + 1):
        crash(run, monkeypatch, run_tool, "tool_context")
    shutil.rmtree(share)
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "tool_crashed")


@pytest.mark.parametrize("dies", [True, False])
def test_a_child_whose_program_replaces_its_folder_by_a_link_ends(play: Play, monkeypatch: Patch, dies: bool) -> None:
    run = play(call("delegate", tasks=[part(call("shell", command="true"), result("First."))]), result("Both."))
    run.advance()
    [child] = children_of(run.task)
    if dies:
        crash(Run(child), monkeypatch, run_tool, "tool_context")
        replace_by_a_link(child.session.workspace_path)
    else:

        def replaced(*about: Any) -> Any:
            given = tool_context(*about)
            replace_by_a_link(child.session.workspace_path)
            return given

        monkeypatch.setattr(run_tool, "tool_context", replaced)
    assert work_off(run).state == "done"
    child.refresh_from_db()
    assert child.state == "done"
    assert "First." in run.results()[0][1]


def test_a_stop_ends_a_child_whose_folder_is_a_link(play: Play, monkeypatch: Patch) -> None:
    run = play(call("delegate", tasks=[part(call("shell", command="true"), result())]), result())
    run.advance()
    [child] = children_of(run.task)
    crash(Run(child), monkeypatch, run_tool, "tool_context")
    replace_by_a_link(child.session.workspace_path)
    services.stop(child)
    task = Run(child).advance()
    assert (task.state, task.stopped) == ("failed", True)


def test_a_failing_task_ends_even_without_its_file_changes(play: Play, monkeypatch: Patch) -> None:
    def fails(*about: Any, **more: Any) -> None:
        raise RuntimeError

    run = play(call("shell", command="true"), result())
    crash(run, monkeypatch, run_tool, "tool_context")
    monkeypatch.setattr("tasks_app.workspace.file_history.record_call", fails)
    task = run.advance()
    assert (task.state, task.failure_code) == ("failed", "internal")
    assert [status for status, _ in run.results()] == ["unknown"]
