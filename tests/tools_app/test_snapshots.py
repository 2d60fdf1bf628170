"""Tests of snapshots: files are read only once, and files that are not stored are named."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tools_app.files import FileHistory, HistoryBounds, HistoryState, Snapshot, Workspace, differences, snapshot


@pytest.fixture
def history(workspace: Workspace, tmp_path: Path) -> FileHistory:
    workspace.make_root()
    history = FileHistory(tmp_path / "history")
    history.folder.mkdir()
    workspace.history = history
    return history


def look(workspace: Workspace, history: FileHistory, before: Snapshot | None = None) -> Snapshot:
    return history.take_snapshot(workspace.open_root(), before or Snapshot())


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    return [found.path for found in differences(before, after)]


def test_created_changed_and_deleted_files_are_found(workspace: Workspace, history: FileHistory) -> None:
    for name in ("a.txt", "b/c.txt", "d.txt"):
        workspace.write_bytes(name, name.encode())
    first = look(workspace, history)
    workspace.delete("a.txt")
    workspace.write_bytes("b/c.txt", b"new")
    workspace.write_bytes("e/f/g.txt", b"g")
    second = look(workspace, history, first)
    assert changed(first, second) == ["a.txt", "b/c.txt", "e/f/g.txt"]
    assert history.content_path(first.files["a.txt"].sha256).read_bytes() == b"a.txt"
    assert changed(second, look(workspace, history, second)) == []


def test_only_changed_files_are_read(workspace: Workspace, history: FileHistory, monkeypatch: Any) -> None:
    workspace.write_bytes("a.txt", b"a")
    first = look(workspace, history)
    monkeypatch.setattr(snapshot, "_TICK_NS", -time.time_ns())  # as if taken long ago
    read: list[bytes] = []
    workspace.write_bytes("b.txt", b"b")
    snapshot.take(workspace.open_root(), first, lambda data: read.append(data) or "x", 1000)  # type: ignore[func-returns-value]
    assert read == [b"b"]


def test_change_within_a_clock_tick_is_found(workspace: Workspace, history: FileHistory) -> None:
    """The size and inode are the same, and the time may be too."""
    workspace.write_bytes("a.txt", b"one")
    for content in (b"two", b"six", b"ten"):
        before = look(workspace, history)
        with (workspace.root / "a.txt").open("r+b") as file:
            file.write(content)
        after = look(workspace, history, before)
        assert history.content_path(after.files["a.txt"].sha256).read_bytes() == content


def test_snapshot_includes_modes_and_links(workspace: Workspace, history: FileHistory) -> None:
    workspace.write_bytes("run.sh", b"#!/bin/sh\n")
    (workspace.root / "link").symlink_to("run.sh")
    first = look(workspace, history)
    (workspace.root / "run.sh").chmod(0o755)
    (workspace.root / "link").unlink()
    (workspace.root / "link").symlink_to("/etc/passwd")
    second = look(workspace, history, first)
    assert changed(first, second) == ["link", "run.sh"]
    assert history.content_path(second.files["link"].sha256).read_bytes() == b"/etc/passwd"


def test_cache_folders_are_skipped_and_listed(workspace: Workspace, history: FileHistory) -> None:
    for path in ("node_modules/x/y.js", "src/__pycache__/m.pyc", ".git/HEAD", "src/m.py", ".results/1.txt"):
        workspace.write_bytes(path, b"x")
    taken = look(workspace, history)
    assert list(taken.files) == ["src/m.py"]
    assert taken.left_out == (".git/", ".results/", "node_modules/", "src/__pycache__/")


def test_large_files_are_listed_but_not_stored(workspace: Workspace, history: FileHistory, monkeypatch: Any) -> None:
    monkeypatch.setattr(snapshot, "MAX_FILE_BYTES", 10)
    workspace.write_bytes("large", b"x" * 11)
    first = look(workspace, history)
    assert first.files["large"].sha256 == ""
    workspace.write_bytes("large", b"y" * 11)
    assert changed(first, look(workspace, history, first)) == ["large"]
    assert workspace.unrestorable("large") == ["large"]


def test_file_beyond_the_limit_is_stored_once_there_is_room(workspace: Workspace, tmp_path: Path) -> None:
    history = FileHistory(tmp_path, HistoryBounds(size=20))
    workspace.write_bytes("a", b"x" * 6)
    first = look(workspace, history)
    workspace.write_bytes("b", b"y" * 6)
    full = look(workspace, history, first)
    assert (bool(full.files["a"].sha256), full.files["b"].sha256) == (True, "")
    workspace.delete("a")
    roomy = look(workspace, history, full)
    assert roomy.files["b"].sha256
    assert changed(full, roomy) == ["a"]


def test_number_of_stored_files_is_limited(workspace: Workspace, history: FileHistory, monkeypatch: Any) -> None:
    monkeypatch.setattr(snapshot, "MAX_FILES", 2)
    for name in "abc":
        workspace.write_bytes(name, b"x")
    assert [bool(state.sha256) for state in look(workspace, history).files.values()].count(True) == 2


def test_nothing_outside_the_workspace_is_read(workspace: Workspace, history: FileHistory, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (workspace.root / "folder").symlink_to(tmp_path / "outside")
    (workspace.root / "file").symlink_to(tmp_path / "outside/secret")
    os.mkfifo(workspace.root / "fifo")
    taken = look(workspace, history)
    contents = [history.content_path(state.sha256).read_bytes() for state in taken.files.values()]
    assert sorted(taken.files) == ["file", "folder"]
    assert not any(content == b"secret" for content in contents)


def test_undecodable_name_is_stored_with_escapes(workspace: Workspace, history: FileHistory) -> None:
    """A name that looks like such an escape is left out, because the two would be indistinguishable later."""
    (workspace.root / os.fsdecode(b"\xfe")).write_text("x")
    (workspace.root / "\\udcff").write_text("y")
    taken = look(workspace, history)
    assert ([*taken.files], taken.left_out) == (["\\udcfe"], ("\\udcff",))
    history.save(HistoryState(snapshot=taken))
    assert history.load() == HistoryState(snapshot=taken)


def test_snapshot_is_saved_and_loaded(workspace: Workspace, history: FileHistory) -> None:
    assert history.load() is None
    workspace.write_bytes("ä/b.txt", b"x")
    last = HistoryState(snapshot=look(workspace, history), change=7, since=3)
    history.save(last)
    assert history.load() == last


def test_unrestorable_files(workspace: Workspace, history: FileHistory) -> None:
    workspace.write_bytes("src/a.py", b"x")
    workspace.write_bytes("src/.git/b.js", b"x")
    workspace.write_bytes("docs/c.md", b"x")
    assert workspace.unrestorable("docs") == []
    assert workspace.unrestorable("docs/c.md") == []
    assert workspace.unrestorable("nowhere") == []
    assert workspace.unrestorable("src") == ["src/.git/"]
    assert workspace.unrestorable("./src/.git/b.js") == ["src/.git/"]
    assert workspace.unrestorable(".") == ["src/.git/"]
    workspace.history = None
    assert workspace.unrestorable("docs") == ["docs"]


def test_unused_contents_are_deleted(workspace: Workspace, history: FileHistory) -> None:
    one, two = history.store(b"one"), history.store(b"two")
    history.delete_unused({two})
    assert (history.content_path(one).exists(), history.content_path(two).exists()) == (False, True)


def test_restore_keeps_the_mode_and_links(workspace: Workspace) -> None:
    workspace.restore("a/run.sh", b"#!", 0o100750)
    workspace.restore("a/link", b"/etc/passwd", 0o120777)
    workspace.restore("a/run.sh", b"#!!", 0o100755)
    assert (workspace.root / "a/run.sh").read_bytes() == b"#!!"
    assert (workspace.root / "a/run.sh").stat().st_mode == 0o100755
    assert os.readlink(workspace.root / "a/link") == "/etc/passwd"
    workspace.delete_with_empty_parents("a/link")
    workspace.delete_with_empty_parents("a/run.sh")
    assert not (workspace.root / "a").exists()
