"""Tests of file operations in a workspace: atomic writes, kept modes, clear refusals, the right owner."""

import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from tools_app.errors import ToolError
from tools_app.files import Workspace

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def test_folder_is_created_on_first_use_and_private(workspace: Workspace) -> None:
    assert not workspace.root.exists()
    assert workspace.overview().text == "(empty)"
    assert stat.S_IMODE(workspace.root.stat().st_mode) == 0o700


def test_write_creates_parent_folders(workspace: Workspace) -> None:
    workspace.write_bytes("a/b/c.txt", b"text")
    assert (workspace.root / "a/b/c.txt").read_bytes() == b"text"
    assert workspace.is_file("a/b/c.txt")
    assert not workspace.is_file("a/b")
    assert not workspace.is_file("a/b/d.txt")


def test_replacing_keeps_the_mode_and_leaves_no_temporary_file(workspace: Workspace) -> None:
    workspace.write_bytes("run.sh", b"old")
    (workspace.root / "run.sh").chmod(0o755)
    workspace.write_bytes("run.sh", b"new")
    assert stat.S_IMODE((workspace.root / "run.sh").stat().st_mode) == 0o755
    assert os.listdir(workspace.root) == ["run.sh"]


def test_failed_write_leaves_the_old_file_and_no_temporary_file(workspace: Workspace) -> None:
    workspace.write_bytes("kept.txt", b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(ToolError, match="File too large"):
            workspace.write_bytes("kept.txt", b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert workspace.read_bytes("kept.txt") == b"old"
    assert os.listdir(workspace.root) == ["kept.txt"]


def test_write_does_not_disturb_a_reader_of_the_old_file(workspace: Workspace) -> None:
    workspace.write_bytes("file.txt", b"old")
    with workspace.open_for_read("file.txt") as reader:
        workspace.write_bytes("file.txt", b"newer")
        assert reader.read() == b"old"
    assert workspace.read_bytes("file.txt") == b"newer"


def test_append_extends_or_creates_the_file(workspace: Workspace) -> None:
    workspace.append("logs/log.txt", b"one\n")
    workspace.append("logs/log.txt", b"two\n")
    assert workspace.read_bytes("logs/log.txt") == b"one\ntwo\n"


def test_read_is_limited(workspace: Workspace) -> None:
    workspace.write_bytes("file.txt", b"12345")
    assert workspace.read_bytes("file.txt", limit=5) == b"12345"
    with pytest.raises(ToolError, match=r"has 5 B; at most 4 B .* range .* shell"):
        workspace.read_bytes("file.txt", limit=4)


def test_move_creates_parent_folders_and_overwrites_nothing(workspace: Workspace) -> None:
    workspace.write_bytes("a.txt", b"a")
    workspace.write_bytes("b.txt", b"b")
    with pytest.raises(ToolError, match=r"b\.txt exists already"):
        workspace.move("a.txt", "b.txt")
    with pytest.raises(ToolError, match="There is no missing"):
        workspace.move("missing", "new/place")
    workspace.move("a.txt", "new/place/a.txt")
    assert workspace.read_bytes("new/place/a.txt") == b"a"
    assert sorted(os.listdir(workspace.root)) == ["b.txt", "new"]


def test_folder_cannot_be_moved_into_itself(workspace: Workspace) -> None:
    workspace.write_bytes("a/file.txt", b"a")
    with pytest.raises(ToolError, match="cannot be moved into itself"):
        workspace.move("a", "a/b")


def test_deleting_a_folder_deletes_its_content(workspace: Workspace) -> None:
    workspace.write_bytes("a/b/c/d.txt", b"x")
    workspace.write_bytes("a/e.txt", b"x")
    workspace.write_bytes("kept.txt", b"x")
    workspace.delete("a")
    assert os.listdir(workspace.root) == ["kept.txt"]
    with pytest.raises(ToolError, match="There is no a in the workspace"):
        workspace.delete("a")


def test_overly_deep_tree_leaks_no_descriptors(workspace: Workspace) -> None:
    folder = os.open(workspace.make_root(), os.O_RDONLY)
    for _ in range(100):
        os.mkdir("deep", dir_fd=folder)
        inner = os.open("deep", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ToolError, match="deeper than 64 folders"):
        workspace.delete("deep")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("missing.txt", "There is no missing.txt in the workspace."),
        ("folder", "folder is a folder, not a file."),
        ("file.txt/below", "file.txt/below is not a folder, or a part of it is a file."),
        ("n" * 300, "File name too long."),
    ],
)
def test_unreadable_paths_are_reported_in_a_sentence(workspace: Workspace, path: str, sentence: str) -> None:
    workspace.write_bytes("file.txt", b"x")
    workspace.write_bytes("folder/file.txt", b"x")
    with pytest.raises(ToolError) as refused:
        workspace.read_bytes(path)
    assert str(refused.value).endswith(sentence)


def test_entries_are_sorted_with_kind_and_size(workspace: Workspace) -> None:
    workspace.write_bytes("b.txt", b"12345")
    workspace.write_bytes("a/inner.txt", b"")
    (workspace.root / "c").symlink_to("b.txt")
    entries = workspace.entries(".")
    assert [(entry.name, entry.kind, entry.size, entry.target) for entry in entries] == [
        ("a", "folder", 0, ""),
        ("b.txt", "file", 5, ""),
        ("c", "link", 0, "b.txt"),
    ]
    with pytest.raises(ToolError, match=r"b\.txt is not a folder"):
        workspace.entries("b.txt")


def test_listing_shows_two_levels_with_sizes(workspace: Workspace) -> None:
    workspace.write_bytes("notes.md", b"x" * 1234)
    workspace.write_bytes("data/a.csv", b"x" * 20)
    workspace.write_bytes("data/deep/b.csv", b"x")
    workspace.write_bytes(".git/config", b"x")
    assert workspace.overview().text.splitlines() == [
        ".git/ (1 inside)",
        "data/ (2 inside)",
        "  a.csv (20 B)",
        "  deep/",
        "notes.md (1.2 kB)",
        "and 1 more",
    ]


def test_folders_that_programs_recreate_come_last_and_unopened(workspace: Workspace) -> None:
    for path in ("__pycache__/a.pyc", "app/__pycache__/b.pyc", "app/main.py", "node_modules/x/y.js", "setup.py"):
        workspace.write_bytes(path, b"")
    overview = workspace.overview()
    assert overview.text.splitlines() == [
        "app/ (2 inside)",
        "  main.py (0 B)",
        "  __pycache__/",
        "setup.py (0 B)",
        "__pycache__/ (1 inside)",
        "node_modules/ (1 inside)",
        "and 2 more",
    ]
    assert overview.paths == ["app/", "app/main.py", "app/__pycache__/", "setup.py"]


def test_listing_is_limited_and_counts_the_rest(workspace: Workspace) -> None:
    for number in range(30):
        workspace.write_bytes(f"many/{number:03}", b"")
        workspace.write_bytes(f"top{number:03}", b"")
    lines = workspace.overview(limit=20).text.splitlines()
    assert len(lines) == 21
    assert lines[0] == "many/ (30 inside)"
    assert lines[11] == "top000 (0 B)"  # a large folder does not hide its neighbours
    assert lines[-1] == "and 41 more"


def test_undecodable_and_multiline_names_are_escaped(workspace: Workspace) -> None:
    Path(os.fsdecode(os.fsencode(workspace.make_root()) + b"/bad\xff")).touch()
    (workspace.root / "two\nlines\x1b[31m").touch()
    (workspace.root / "größe 大").touch()
    listing = workspace.overview().text
    listing.encode()
    assert listing.splitlines() == ["bad\\udcff (0 B)", "größe 大 (0 B)", "two\\nlines\\x1b[31m (0 B)"]


@as_root
def test_created_files_belong_to_the_owner_of_the_workspace(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace", owner=(65_531, 65_530))
    workspace.write_bytes("a/b/file.txt", b"x")
    workspace.write_bytes("a/b/file.txt", b"y")
    workspace.append("log.txt", b"x")
    workspace.move("log.txt", "c/log.txt")
    created = [workspace.root, *workspace.root.rglob("*")]
    assert len(created) == 6
    assert {(path.stat().st_uid, path.stat().st_gid) for path in created} == {(65_531, 65_530)}


def test_full_workspace_refuses_writes_until_something_is_deleted(tmp_path: Path) -> None:
    small = Workspace(tmp_path / "small", max_bytes=100_000)
    small.write_bytes("a", b"x" * 60_000)
    for write in (small.write_bytes, small.append):
        with pytest.raises(ToolError, match="would hold more than its 100"):
            write("b", b"x" * 60_000)
    assert not small.is_file("b")
    small.delete("a")
    small.write_bytes("b", b"x" * 60_000)
