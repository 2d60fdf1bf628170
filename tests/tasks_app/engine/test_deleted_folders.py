"""Deletions: files in the history can be deleted without an approval, by any tool; others cannot."""

from collections.abc import Callable
from typing import Any

import pytest

from tasks_app import services
from tasks_app.models import Approval
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import Run, call, result

REASON = "deletes work, of which the file history does not keep work/.git/"


@pytest.mark.parametrize("decision", ["approved", "rejected"])
def test_deletions_outside_the_file_history_need_an_approval(
    play: Callable[..., Run], owner: Any, decision: str
) -> None:
    run = play(call("file", action="delete", path="work"), result())
    workspace = workspace_of(run.task.session)
    workspace.write_bytes("work/.git/a.js", b"x")
    task = run.advance()
    assert task.waiting_for == "approval"
    assert Approval.objects.get().reason == REASON
    services.decide(task, owner, decision)
    assert run.advance().state == "done"
    assert workspace.is_file("work/.git/a.js") == (decision == "rejected")


@pytest.mark.parametrize("tool", [{"name": "file", "action": "delete", "path": "work"}, {"command": "rm -rf work"}])
def test_files_in_the_history_are_deleted_without_approval(play: Callable[..., Run], tool: dict[str, str]) -> None:
    name = "file" if "action" in tool else "shell"
    run = play(call(name, **{key: value for key, value in tool.items() if key != "name"}), result())
    workspace_of(run.task.session).write_bytes("work/a.txt", b"x")
    assert run.advance().state == "done"
    (deleted,) = run.task.session.changes.get().files.all()
    assert (deleted.path, deleted.action, deleted.content.read_bytes()) == ("work/a.txt", "deleted", b"x")


def test_an_approval_for_the_task_covers_no_other_folder(play: Callable[..., Run], owner: Any) -> None:
    commands = ["rm -rf a/.git", "rm -rf b/.git"]
    run = play(*(call("shell", command=command) for command in commands), result())
    for name in "ab":
        workspace_of(run.task.session).write_bytes(f"{name}/.git/x.js", b"x")
    services.decide(run.advance(), owner, "approved", scope="task")
    assert run.advance().waiting_for == "approval"
    assert [status for status, _ in run.results()] == ["succeeded"]
    assert workspace_of(run.task.session).is_file("b/.git/x.js")
