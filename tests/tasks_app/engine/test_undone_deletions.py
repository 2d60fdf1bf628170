"""Deletions of each kind: reported once, undone with every file, and invisible in earlier forks."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tasks_app import services
from tasks_app.models import ContextEntry, Session, WorkspaceChange
from tasks_app.services import forks
from tasks_app.workspace import file_history, uploads
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.api.conftest import Program
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tasks_app.engine.test_file_history_properties import files_in
from tools_app.models import ToolSetting

MADE = """
mkdir -p src/deep/er docs
echo one > a.txt; echo two > b.txt; : > empty; printf '#!/bin/sh' > run.sh; chmod 755 run.sh
ln -s a.txt link; ln -s nowhere dangling; echo x > src/x.py; echo y > src/deep/er/y.py; echo z > 'docs/a name.md'
"""
KINDS = {
    "file": call("file", action="delete", path="a.txt"),
    "folder": call("file", action="delete", path="src"),
    "patch": call("file", action="patch", path=".", content="*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"),
    "rm": call("shell", command="rm a.txt empty run.sh link dangling"),
    "rm -r": call("shell", command="rm -r src docs"),
    "everything": call("shell", command="rm -rf ./* ./.[!.]*"),
    "moved over": call("shell", command="mv a.txt b.txt"),
    "redirection": call("shell", command="> b.txt"),
    "link replaced": call("shell", command="rm link; echo file > link"),
    "folder replaced": call("shell", command="rm -r src; echo file > src"),
    "file replaced": call("shell", command="rm a.txt; mkdir -p a.txt/b; echo c > a.txt/b/c"),
    "nested": call("shell", command="find . -name '*.py' -delete"),
    "moved away": call("shell", command="mv src/deep /tmp/"),
    "into a cache": call("shell", command="mkdir .cache; mv src .cache/"),
    "script": call("shell", command="python3 -c \"import os, shutil; os.remove('a.txt'); shutil.rmtree('src')\""),
    "clean": call("shell", command="git init -q .; git add a.txt; git clean -fdxq"),
    "failed": call("shell", command="rm -r src; exit 3"),
}


@pytest.fixture
def made(play: Callable[..., Run]) -> Session:
    ToolSetting.objects.create(name="shell", approval="never")
    run = play(call("shell", command=MADE), result())
    assert run.advance().state == "done"
    return run.task.session


def work(session: Session, *calls: Any) -> Run:
    task = services.post_message(session, session.owner, script(*calls, result())).task
    assert task is not None
    run = Run(task)
    assert run.advance().state == "done"
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_comes_back(made: Session, kind: str) -> None:
    before = files_in(made.workspace_path)
    run = work(made, KINDS[kind], call("shell", command="true"), call("file", action="write", path="c", content="c"))
    deleted, written = WorkspaceChange.objects.filter(task=run.task).order_by("pk")
    assert deleted.tool == KINDS[kind]["call"]
    file_history.undo(written)
    after = files_in(made.workspace_path)
    assert after != before
    assert "c" not in after
    answered = next(entry for entry in run.entries if entry.tool_call_id == deleted.call_id)
    assert files_in(forks.fork(made, answered.seq, made.owner).workspace_path) == after
    undone = file_history.undo(deleted)
    assert list(undone.unrestored) == []
    assert files_in(made.workspace_path) == before
    file_history.undo(undone.change)
    assert files_in(made.workspace_path) == after


@pytest.mark.parametrize(
    "command",
    ["mv big big2", "mkdir d; mv big d/big", "mv big a.txt", "cp big big2; rm big", "ln big big2; rm big",
     "mv big big2; echo small > big"],
)  # fmt: skip
def test_an_undo_deletes_no_moved_file_too_large_for_the_history(made: Session, command: str) -> None:
    work(made, call("shell", command="head -c 11000000 /dev/urandom > big"))
    large = files_in(made.workspace_path)["big"][1]
    run = work(made, call("shell", command=f"{command}; rm b.txt"))
    undone = file_history.undo(WorkspaceChange.objects.get(task=run.task))
    files = files_in(made.workspace_path)
    assert files["b.txt"][1] == b"two\n"
    (path,) = (path for path, file in files.items() if file[1] == large)
    assert {"big", path} <= {*undone.unrestored}


def test_undo_deletes_a_large_file_that_the_call_made(made: Session) -> None:
    before = files_in(made.workspace_path)
    run = work(made, call("shell", command="head -c 11000000 /dev/urandom > big"))
    assert list(file_history.undo(WorkspaceChange.objects.get(task=run.task)).unrestored) == []
    assert files_in(made.workspace_path) == before


def test_deletions_by_a_person_can_be_undone(made: Session) -> None:
    (path,) = uploads.store(made, [SimpleUploadedFile("photo.png", b"\x89PNG")])
    before = files_in(made.workspace_path)
    work(made, call("file", action="delete", path=path), call("shell", command="true"))
    deleted = WorkspaceChange.objects.latest("pk")
    uploads.delete(made, "src")
    by_person = WorkspaceChange.objects.latest("pk")
    file_history.undo(by_person)
    assert files_in(made.workspace_path).keys() == before.keys() - {path}
    file_history.undo(deleted)
    assert files_in(made.workspace_path) == before


def test_deletions_of_a_delegated_task_can_be_undone(made: Session) -> None:
    child = script(call("shell", command="echo 1 > kept; echo 2 > gone"), call("shell", command="rm gone"), result())
    task = services.post_message(
        made, made.owner, script(call("delegate", tasks=[{"instruction": child}]), result())
    ).task
    assert task is not None
    while Run(task).advance().waiting_for:
        Run(made.descendants.get().tasks.get()).advance()
    session = made.descendants.get()
    file_history.undo(WorkspaceChange.objects.filter(session=session).latest("pk"))
    assert files_in(session.workspace_path).keys() == {"kept", "gone"}


def test_programs_see_each_deletion_once_and_undo_it(play: Callable[..., Run], owner: Any) -> None:
    write, remove = call("file", action="write", path="a.txt", content="one"), KINDS["file"]
    later = call("file", action="write", path="b.txt", content="b")
    run = play(write, remove, call("shell", command="true"), later, result("k"))
    assert run.advance().state == "done"
    session, program = run.task.session, Program(owner)
    listed = program.call("GET", f"sessions/{session.pk}/changes/").json()["results"]
    assert [(change["tool"], [(path["path"], path["action"]) for path in change["paths"]]) for change in listed] == [
        ("file", [("b.txt", "created")]),
        ("file", [("a.txt", "deleted")]),
        ("file", [("a.txt", "created")]),
    ]
    answered = ContextEntry.objects.get(session=session, tool_call_id=listed[1]["call_id"])
    fork = program.call("POST", f"tasks/{run.task.pk}/fork/", {"seq": answered.seq}).json()
    assert files_in(Session.objects.get(pk=fork["id"]).workspace_path) == {}
    assert program.call("POST", f"changes/{listed[0]['id']}/undo/", {}).status_code == 200
    assert files_in(session.workspace_path) == {}
    assert program.call("POST", f"changes/{listed[1]['id']}/undo/", {}).status_code == 200
    assert workspace_of(session).read_bytes("a.txt") == b"one"
