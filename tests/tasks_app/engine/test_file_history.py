"""The file history after each call that changed files, with any tool: undo, forks and deletion."""

import fcntl
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from llm_app.types import ToolCall
from tasks_app import services
from tasks_app.engine import run_tool, step_settings
from tasks_app.models import CallStatus, ContextEntry, FileChange, Limits, Session, Task, ToolCallLog, WorkspaceChange
from tasks_app.models.errors import TaskRunning
from tasks_app.services import forks
from tasks_app.worker import jobs
from tasks_app.workspace import file_history, uploads
from tasks_app.workspace.file_history import NotChanged, NothingToPutBack
from tasks_app.workspace.folders import workspace_of
from tests.tasks_app.engine.conftest import Run, call, result, script
from tests.tasks_app.engine.test_crashes import crash
from tools_app.files import FileHistory, HistoryState, Workspace


def write(path: str, content: str) -> dict[str, Any]:
    return call("file", action="write", path=path, content=content)


@pytest.fixture
def worked(play: Callable[..., Run]) -> Session:
    """A session after four calls: entries 3, 5, 7 and 9."""
    remove = call("shell", command="rm a.txt; printf '#!' > run.sh; chmod +x run.sh")
    run = play(write("a.txt", "one"), write("a.txt", "two"), remove, write("b.txt", "b"), result())
    assert run.advance().state == "done"
    return run.task.session


def files(session: Session) -> dict[str, bytes]:
    workspace = workspace_of(session)
    listed = workspace.visible_entries()
    return {entry.name: workspace.read_bytes(entry.name) if entry.kind == "file" else b"" for entry in listed}


def changes(session: Session) -> list[tuple[str, list[tuple[str, str]]]]:
    rows = WorkspaceChange.objects.filter(session=session).order_by("pk")
    return [(row.tool, [(file.path, file.action) for file in row.files.order_by("path")]) for row in rows]


def change(session: Session, number: int) -> WorkspaceChange:
    return WorkspaceChange.objects.filter(session=session).order_by("pk")[number]


def test_each_call_has_its_file_changes(worked: Session) -> None:
    assert changes(worked) == [
        ("file", [("a.txt", "created")]),
        ("file", [("a.txt", "changed")]),
        ("shell", [("a.txt", "deleted"), ("run.sh", "created")]),
        ("file", [("b.txt", "created")]),
    ]
    third = change(worked, 2)
    call_entry = ContextEntry.objects.in_session(worked).get(seq=third.seq)
    assert (call_entry.call or {})["id"] == third.call_id


def test_reading_stores_nothing(play: Callable[..., Run]) -> None:
    play(call("file", action="list", path="."), call("match", action="glob", pattern="*"), result()).advance()
    assert not WorkspaceChange.objects.exists()


def test_an_undo_restores_all_files(worked: Session) -> None:
    undone = file_history.undo(change(worked, 2))
    assert files(worked) == {"a.txt": b"two"}
    assert changes(worked)[-1] == ("undo", [("a.txt", "created"), ("b.txt", "deleted"), ("run.sh", "deleted")])
    assert not undone.unrestored


def test_an_undo_can_restore_a_single_file(worked: Session) -> None:
    file_history.undo(change(worked, 1), ["a.txt"])
    assert files(worked) == {"a.txt": b"one", "b.txt": b"b", "run.sh": b"#!"}
    with pytest.raises(NotChanged):
        file_history.undo(change(worked, 3), ["nowhere.txt"])


def test_nothing_starts_during_an_undo(worked: Session, monkeypatch: Any) -> None:
    lock, put_back = worked.history_path / "lock", Workspace.restore
    seen = []

    def watched(*given: Any) -> None:
        with lock.open() as file, pytest.raises(BlockingIOError):  # for which a task's first call waits
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen.append(given)
        put_back(*given)

    monkeypatch.setattr(Workspace, "restore", watched)
    file_history.undo(change(worked, 2))
    assert seen


def test_contents_are_deleted_whatever_numbers_the_changes_have(worked: Session, monkeypatch: Any) -> None:
    """Two sessions that work alternately may have only odd numbers."""
    monkeypatch.setattr(file_history, "_CLEANUP_INTERVAL", 2)
    Limits.objects.create(pk=1, history_bytes=8)
    workspace, task = workspace_of(worked), worked.tasks.get()
    for number in range(4):
        if WorkspaceChange.objects.latest("pk").pk % 2:
            WorkspaceChange.objects.create(session=Session.objects.create(owner=worked.owner), seq=1)
        file_history.record_before(task, workspace)
        workspace.write_bytes("b.txt", f"{number}{number}".encode())
        call = ToolCall(name="shell", arguments={}, id=f"c{number}")
        for row in file_history.record_call(task, workspace, call, 10 + number):
            row.save()
    file_history.record_before(task, workspace)
    assert WorkspaceChange.objects.filter(session=worked).count() <= 3  # of eight


def test_an_undo_deletes_no_repository_in_place_of_a_file(play: Callable[..., Run]) -> None:
    """Its .git is in no history, so nobody could restore it."""
    cloned = call("shell", command="rm a; mkdir -p a/.git; echo x > a/.git/config; echo x > a/README")
    run = play(write("a", "one"), cloned, result())
    assert run.advance().state == "done"
    session = run.task.session
    undone = file_history.undo(change(session, 1))
    assert list(undone.unrestored) == ["a"]
    assert [entry.name for entry in workspace_of(session).entries("a")] == [".git"]
    with pytest.raises(NothingToPutBack):
        file_history.undo(change(session, 0))
    assert workspace_of(session).read_bytes("a/.git/config") == b"x\n"


def test_a_file_too_large_for_the_history_is_reported_once(play: Callable[..., Run], monkeypatch: Any) -> None:
    monkeypatch.setattr("tools_app.files.snapshot.MAX_FILE_BYTES", 5)
    run = play(write("large", "123456"), call("shell", command="true"), result())
    assert run.advance().state == "done"
    file_history.record(run.task.session, workspace_of(run.task.session))
    assert changes(run.task.session) == [("file", [("large", "created")])]


def test_a_change_committed_during_a_comparison_is_reported_once(worked: Session, monkeypatch: Any) -> None:
    """A call's result is stored while an upload compares the files."""
    workspace, told = workspace_of(worked), changes(worked)
    workspace.write_bytes("c.txt", b"c")
    made = ToolCall(name="shell", arguments={}, id="c1")
    (by_call,) = file_history.record_call(worked.tasks.get(), workspace, made, worked.last_seq)
    looks, taken = 0, FileHistory.take_snapshot

    def committing(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        files = taken(*args)
        if looks == 2:  # the undo after the file was stored
            by_call.save()
        return files

    monkeypatch.setattr(FileHistory, "take_snapshot", committing)
    uploads.replace(worked, "d.txt", SimpleUploadedFile("d.txt", b"d"))
    file_history.record(worked, workspace)
    assert changes(worked)[len(told) :] == [("shell", [("c.txt", "created")]), ("upload", [("d.txt", "created")])]


def test_an_undo_can_be_undone(worked: Session) -> None:
    before = files(worked)
    undone = file_history.undo(change(worked, 0))
    assert files(worked) == {}
    file_history.undo(undone.change)
    assert files(worked) == before
    assert (workspace_of(worked).root / "run.sh").stat().st_mode & 0o111
    with pytest.raises(NothingToPutBack):
        file_history.undo(undone.change)


def test_changes_before_an_undo_are_not_lost(worked: Session) -> None:
    """Such changes come from a background command, for example."""
    workspace_of(worked).write_bytes("b.txt", b"later")
    file_history.undo(change(worked, 3))
    assert changes(worked)[-2:] == [("", [("b.txt", "changed")]), ("undo", [("b.txt", "deleted")])]
    file_history.undo(change(worked, 5))
    assert files(worked)["b.txt"] == b"later"


def test_no_undo_while_a_task_runs(play: Callable[..., Run]) -> None:
    run = play(write("a.txt", "one"), call("message", type="ask", text="Good?"), result())
    jobs.advance(run.task.pk)
    session = run.task.session
    (task,) = session.tasks.active()
    file_history.undo(change(session, 0))  # it waits for an answer
    task.waiting_for = None
    task.save()
    with pytest.raises(TaskRunning):
        file_history.undo(change(session, 1))


def test_no_undo_while_a_delegated_task_runs(play: Callable[..., Run]) -> None:
    """A delegated task works in a folder of the same workspace."""
    parts = [{"instruction": script(call("message", type="ask", text="Which?"), result())}]
    run = play(write("a.txt", "one"), call("delegate", tasks=parts), result())
    assert run.advance().waiting_for == "children"
    (child,) = Task.objects.filter(parent_call__task=run.task)
    with pytest.raises(TaskRunning):
        file_history.undo(change(run.task.session, 0))
    jobs.advance(child.pk)  # it asks, and nothing runs
    file_history.undo(change(run.task.session, 0))
    assert files(run.task.session).keys() == {"children"}


def test_an_undo_is_reported_once_to_the_next_task(worked: Session, owner: Any) -> None:
    file_history.undo(change(worked, 2))
    for said in ("First.", "Second."):
        task = services.post_message(worked, owner, script(call("plan", action="advance"), result(said))).task
        assert task is not None
        assert Run(task).advance().state == "done"
    found = [entry for entry in ContextEntry.objects.in_session(worked) if entry.metadata.get("kind") == "undone"]
    assert len(found) == 1
    assert "a.txt, b.txt, run.sh" in found[0].content
    assert not WorkspaceChange.objects.filter(told=False).exists()


def test_deletions_by_a_person_are_reported_at_the_next_step(
    play: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, refresh = 0, step_settings.refresh_all

    def deleting(context: Any, look: Any) -> None:
        nonlocal steps
        steps += 1
        if steps == 2:
            uploads.delete(Session.objects.get(pk=context.session.pk), "a.txt")
        refresh(context, look)

    monkeypatch.setattr(step_settings, "refresh_all", deleting)
    run = play(write("a.txt", "one"), call("file", action="list", path="."), result())
    assert run.advance().state == "done"
    (found,) = [entry for entry in run.entries if entry.metadata.get("kind") == "deleted"]
    assert "The person has deleted: a.txt." in found.content
    assert found.seq == run.entries[-1].seq - 2  # before its last call
    assert not WorkspaceChange.objects.filter(told=False).exists()


def test_a_waiting_agent_is_notified_after_the_answer(play: Callable[..., Run], owner: Any) -> None:
    run = play(write("a.txt", "one"), call("message", type="ask", text="Good?"), result())
    run.advance()
    file_history.undo(change(run.task.session, 0))
    services.reply(run.task, owner, "No.")
    assert run.advance().state == "done"
    kinds = [entry.metadata.get("kind", entry.context_type) for entry in run.entries]
    assert kinds[-3:] == ["tool_result", "undone", "ai_message"] or "undone" in kinds[kinds.index("undone") - 1 :]


@pytest.mark.parametrize(
    ("seq", "expected"),
    [
        (1, {}),
        (3, {}),
        (4, {"a.txt": b"one"}),
        (6, {"a.txt": b"two"}),
        (8, {"run.sh": b"#!"}),
        (10, {"run.sh": b"#!", "b.txt": b"b"}),
    ],
)
def test_a_fork_has_the_files_as_they_were_at_that_entry(
    worked: Session, owner: Any, seq: int, expected: dict[str, bytes]
) -> None:
    before = files(worked)
    fork = forks.fork(worked, seq, owner)
    assert files(fork) == expected
    assert files(worked) == before
    assert all((workspace_of(fork).root / name).stat().st_mode & 0o111 for name in expected if name == "run.sh")


def test_a_fork_after_an_undo(worked: Session, owner: Any) -> None:
    file_history.undo(change(worked, 2))
    assert files(forks.fork(worked, 10, owner)) == {"run.sh": b"#!", "b.txt": b"b"}
    newest = ContextEntry.objects.in_session(worked).last()
    assert newest is not None
    assert files(forks.fork(worked, newest.seq, owner)) == {"a.txt": b"two"}  # nothing has changed since


def test_a_message_that_is_sent_again_has_its_files(play: Callable[..., Run], owner: Any) -> None:
    first = play(write("a.txt", "one"), result())
    first.advance()
    session = first.task.session
    file_history.ensure_snapshot(session, workspace_of(session))
    workspace_of(session).write_bytes("photo.txt", b"p")
    file_history.record(session, workspace_of(session), tool="upload", only=["photo.txt"])
    task = services.post_message(
        session, owner, script(write("a.txt", "two"), result()), attachments=["photo.txt"]
    ).task
    assert task is not None
    Run(task).advance()
    message = ContextEntry.objects.in_session(session).filter(context_type="user_message").last()
    assert message is not None
    copy = forks.send_again(session, message.seq, owner, "Something else.")
    assert files(copy) == {"a.txt": b"one", "photo.txt": b"p"}


def test_a_fork_names_files_that_are_newer(worked: Session, owner: Any) -> None:
    FileChange.objects.filter(path="a.txt", change=change(worked, 2)).update(before_sha256="")
    fork = forks.fork(worked, 6, owner)
    reminder = next(entry for entry in ContextEntry.objects.in_session(fork) if entry.metadata.get("kind") == "forked")
    assert "may be newer than what was said above, as the file history has not kept them: a.txt" in reminder.content


def test_a_fork_from_before_the_file_history_is_marked(worked: Session, owner: Any) -> None:
    Limits.objects.create(pk=1, history_changes=1)
    workspace_of(worked).write_bytes("c.txt", b"c")
    file_history.record(worked, workspace_of(worked))
    for seq, says_so in ((4, True), (ContextEntry.objects.in_session(worked).count(), False)):
        entries = list(ContextEntry.objects.in_session(forks.fork(worked, seq, owner)))
        reminder = next(entry for entry in entries if entry.metadata.get("kind") == "forked")
        assert ("as the file history first knows them, which is later than this point" in reminder.content) is says_so
        assert ("The file history does not go back to this entry" in entries[-1].content) is says_so


def test_changes_before_a_crash_belong_to_the_interrupted_call(play: Callable[..., Run]) -> None:
    run = play(call("shell", command="true"), result())
    session, workspace = run.task.session, workspace_of(run.task.session)
    run.advance()
    file_history.ensure_snapshot(session, workspace)
    log = ToolCallLog.objects.get(session_id=session.pk, name="shell")
    workspace.write_bytes("half.txt", b"half")
    from llm_app.types import ToolCall

    for row in file_history.record_call(run.task, workspace, ToolCall(id=log.call_id, name="shell", arguments="{}"), 3):
        row.save()
    assert log.status == CallStatus.SUCCEEDED
    assert changes(session) == [("shell", [("half.txt", "created")])]


def test_a_crash_before_the_snapshot_was_written_neither_loses_nor_doubles_a_change(worked: Session) -> None:
    history = file_history.history_of(workspace_of(worked))
    newest = history.load()
    assert newest is not None
    first = WorkspaceChange.objects.filter(session=worked).order_by("pk")[0]
    behind = {path: state for path, state in newest.snapshot.files.items() if path == "none"}
    from dataclasses import replace

    stored = HistoryState(snapshot=replace(newest.snapshot, files=behind), change=first.pk - 1)
    history.save(stored)
    before = changes(worked)
    assert file_history.record(worked, workspace_of(worked)) is None
    assert changes(worked) == before
    workspace_of(worked).write_bytes("b.txt", b"new")
    file_history.record(worked, workspace_of(worked))
    assert changes(worked)[len(before) :] == [("", [("b.txt", "changed")])]


@pytest.mark.parametrize("bound", [{"history_changes": 2}, {"history_bytes": 8}])
def test_the_oldest_changes_are_deleted_first(worked: Session, bound: dict[str, int]) -> None:
    Limits.objects.create(pk=1, **bound)
    workspace_of(worked).write_bytes("b.txt", b"new")
    file_history.record(worked, workspace_of(worked), tool="x")
    kept = list(WorkspaceChange.objects.filter(session=worked))
    assert len(kept) in (2, 3)
    assert kept[0].tool == "x"
    file_history.undo(kept[0])
    assert files(worked)["b.txt"] == b"b"
    history = file_history.history_of(workspace_of(worked))
    last = history.load()
    assert last is not None
    assert last.since > 0


def test_old_changes_are_deleted(worked: Session) -> None:
    old = timezone.now() - timedelta(days=Limits.current().history_days + 1)
    WorkspaceChange.objects.filter(session=worked).update(created_at=old)
    workspace_of(worked).write_bytes("b.txt", b"new")
    file_history.record(worked, workspace_of(worked))
    assert WorkspaceChange.objects.filter(session=worked).count() == 1


def test_the_file_history_is_deleted_with_the_session(worked: Session) -> None:
    folder = worked.history_path
    assert folder.exists()
    services.delete_session(worked)
    assert not folder.exists()
    assert not FileChange.objects.exists()


@pytest.mark.parametrize(
    ("where", "name"), [(run_tool.file_history, "record_call"), (run_tool, "within_budget"), (FileHistory, "save")]
)
def test_a_kill_around_a_comparison_keeps_the_history_true(
    play: Callable[..., Run], monkeypatch: Any, where: Any, name: str
) -> None:
    """The server is killed after the call has run and before its change is stored, or before the snapshot is."""
    run = play(write("a.txt", "new"), write("b.txt", "b"), result())
    session = run.task.session
    workspace_of(session).write_bytes("a.txt", b"old")
    file_history.ensure_snapshot(session, workspace_of(session))
    crash(run, monkeypatch, where, name)
    assert files(session) == {"a.txt": b"new"}
    assert run.advance().state == "done"
    assert changes(session) == [("file", [("a.txt", "changed")]), ("file", [("b.txt", "created")])]
    calls = [entry.call["id"] for entry in run.entries if entry.call]
    assert [change(session, number).call_id for number in (0, 1)] == calls[:2]
    file_history.undo(change(session, 0))
    assert files(session) == {"a.txt": b"old"}


def test_a_full_disk_does_not_stop_calls(play: Callable[..., Run], monkeypatch: Any) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tools_app.files.history.FileHistory.store", full)
    run = play(write("a.txt", "one"), result())
    assert run.advance().state == "done"
    assert files(run.task.session) == {"a.txt": b"one"}
