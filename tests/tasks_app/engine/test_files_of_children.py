"""The files of delegated tasks: they belong to the delegating call, and every program can read their folders."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tasks_app import services
from tasks_app.models import Session, WorkspaceChange
from tasks_app.run import children
from tasks_app.services import forks
from tasks_app.worker import reaper
from tasks_app.workspace import file_history
from tests.tasks_app.engine.conftest import Run, call, result
from tests.tasks_app.engine.test_delegation import children_of, part, work_off
from tests.tasks_app.engine.test_file_history import changes, write
from tests.tasks_app.engine.test_file_history_properties import files_in
from tools_app.models import ToolSetting

MOUNT_POINT = "children/1/parent"


@pytest.fixture
def private_server() -> Iterator[None]:
    """Set the umask of `serve`: only the server can read its files."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def folder_exists(session: Session, path: str) -> bool:
    return (session.workspace_path / path).is_dir()


def test_a_childs_changes_belong_to_its_parents_call(play: Callable[..., Run], owner: Any) -> None:
    child = part(write("b.txt", "b"), call("shell", command="mkdir -p c; echo c > c/d; rm b.txt; echo e > e"), result())
    delegating = call("delegate", tasks=[child, part(write("f.txt", "f"), result())])
    run = play(write("a.txt", "a"), delegating, call("shell", command="true"), result())
    assert work_off(run).state == "done"
    session = run.task.session
    assert changes(session) == [
        ("file", [("a.txt", "created")]),
        ("delegate", [(f"children/{path}", "created") for path in ("1/c/d", "1/e", "2/f.txt")]),
    ]
    made = WorkspaceChange.objects.filter(session=session).latest("pk")
    delegated = next(entry for entry in run.entries if entry.call and entry.call["name"] == "delegate")
    assert (made.call_id, made.task, made.seq) == (delegated.call["id"], run.task, delegated.seq)
    copies = [forks.fork(session, seq, owner).workspace_path for seq in (delegated.seq, delegated.seq + 1)]
    assert [len(files_in(copy)) for copy in copies] == [1, 4]
    file_history.undo(made)
    assert files_in(session.workspace_path).keys() == {"a.txt"}


def test_earlier_changes_of_a_background_command_are_not_the_calls(play: Callable[..., Run]) -> None:
    """The same holds for files of a session that was never compared."""
    run = play(call("delegate", tasks=[part(write("b.txt", "b"), result())]), result())
    run.task.session.workspace_path.mkdir(parents=True)
    (run.task.session.workspace_path / "before.txt").write_text("b")
    work_off(run)
    assert changes(run.task.session) == [("delegate", [("children/1/b.txt", "created")])]


def test_changes_until_a_child_stops_belong_to_the_call(play: Callable[..., Run], owner: Any) -> None:
    asks = call("message", type="ask", text="Which?")
    run = play(call("delegate", tasks=[part(write("b.txt", "b"), asks, result())]), result())
    run.advance()
    [child] = children_of(run.task)
    Run(child).advance()
    services.stop(run.task)
    run.advance()
    (child.session.workspace_path / "late.txt").write_text("by a command that the stop has not reached yet")
    Run(child).advance()
    assert changes(run.task.session) == [
        ("delegate", [("children/1/b.txt", "created")]),
        ("delegate", [("children/1/late.txt", "created")]),
    ]
    assert WorkspaceChange.objects.filter(session=run.task.session).values("call_id").distinct().count() == 1
    assert not folder_exists(run.task.session, MOUNT_POINT)


@pytest.mark.usefixtures("private_server")
def test_programs_of_the_parent_can_read_and_copy_everything(play: Callable[..., Run]) -> None:
    ToolSetting.objects.create(name="shell", approval="never")
    below = part(call("shell", command="cat parent/parent/data.txt > deep.txt"), result())
    child = part(call("shell", command="cat parent/data.txt > b.txt"), call("delegate", tasks=[below]), result())
    walk = "set -e; grep -r 42 . >/dev/null; tar cf /tmp/all.tar .; cp -r children /tmp/; find . >/dev/null; echo whole"
    run = play(write("data.txt", "42"), call("delegate", tasks=[child]), call("shell", command=walk), result())
    assert work_off(run).state == "done"
    assert run.results()[2][1].startswith("whole\n")
    assert files_in(run.task.session.workspace_path).keys() == {
        "data.txt",
        "children/1/b.txt",
        "children/1/children/1/deep.txt",
    }
    assert not list(run.task.session.workspace_path.rglob("parent"))


@pytest.mark.usefixtures("private_server")
def test_programs_of_the_parent_can_read_it_while_a_child_works(play: Callable[..., Run]) -> None:
    run = play(call("delegate", tasks=[part(call("message", type="ask", text="Which?"), result())]), result())
    run.advance()
    Run(children_of(run.task)[0]).advance()
    assert (run.task.session.workspace_path / MOUNT_POINT).stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("look", [reaper.start, reaper.sweep])
def test_a_server_that_is_killed_when_a_child_ends_removes_the_mount_point_later(
    play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]
) -> None:
    run = play(call("delegate", tasks=[part(call("shell", command="true"), result())]), result())
    run.advance()
    monkeypatch.setattr(children, "advance_call", lambda call_id: None)
    Run(children_of(run.task)[0]).advance()
    monkeypatch.undo()
    assert folder_exists(run.task.session, MOUNT_POINT)
    look()
    assert not folder_exists(run.task.session, MOUNT_POINT)


def test_the_next_start_removes_only_stale_mount_points(play: Callable[..., Run]) -> None:
    asks = part(call("message", type="ask", text="Which?"), result())
    run = play(call("delegate", tasks=[part(result()), asks]), result())
    run.advance()
    for child in children_of(run.task):
        Run(child).advance()
    for number in (1, 2):
        (run.task.session.workspace_path / f"children/{number}/parent").mkdir(exist_ok=True)
    reaper.start()
    assert [folder_exists(run.task.session, f"children/{number}/parent") for number in (1, 2)] == [False, True]


def test_files_in_the_mount_points_place_stay(play: Callable[..., Run]) -> None:
    run = play(call("delegate", tasks=[part(result())]), result())
    work_off(run)
    place = run.task.session.workspace_path / MOUNT_POINT
    place.mkdir()
    (place / "kept.txt").write_text("k")
    reaper.start()
    assert (place / "kept.txt").read_text() == "k"
