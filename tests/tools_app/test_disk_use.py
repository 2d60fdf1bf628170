"""Tests of the disk use of workspaces whose programs try to hide it."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tools_app.files import safe_open
from tools_app.files.quota import bytes_held, wait_until_exceeded
from tools_app.files.workspace_copy import remove_tree

_NOBODY = (65_534, 65_534)


def _nested_folders(folder: Path, levels: int) -> int:
    """Create nested folders and return the open innermost one, which no path can reach."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=place)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    return place


def test_deep_files_count(tmp_path: Path) -> None:
    place = _nested_folders(tmp_path, 1500)  # more than the available descriptors or recursion levels
    file = os.open("big", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, b"x" * 2_000_000)
    os.close(file)
    os.close(place)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "big").write_bytes(b"x" * 2_000_000)
    try:
        assert bytes_held(tmp_path) > 4_000_000
    finally:
        remove_tree(tmp_path)


def test_empty_files_count(tmp_path: Path) -> None:
    for number in range(1000):  # without a limit, they would use up all inodes of the disk
        (tmp_path / str(number)).touch()
    assert bytes_held(tmp_path) >= 4_000_000


def test_time_grows_linearly_with_the_depth(tmp_path: Path) -> None:
    os.close(_nested_folders(tmp_path, 10_000))
    try:
        began = time.process_time()
        assert bytes_held(tmp_path) >= 0
        assert time.process_time() - began < 2
    finally:
        remove_tree(tmp_path)


def test_deep_folder_moved_during_the_walk_leads_nowhere(tmp_path: Path, monkeypatch: Any) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "big").write_bytes(b"x" * 2_000_000)
    os.close(_nested_folders(inside, 100))
    enter = safe_open.force_open_folder

    def moved(parent: int, name: str) -> int:
        if name == ".." and not (outside / "deeper").exists():
            os.rename("../deeper", outside / "deeper", src_dir_fd=parent)
        return enter(parent, name)

    monkeypatch.setattr(safe_open, "force_open_folder", moved)
    assert bytes_held(inside) < 2_000_000
    assert (outside / "deeper").exists()


def test_closed_folders_are_counted(tmp_path: Path) -> None:
    """The server is not root here, because root can open everything."""
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "big").write_bytes(b"x" * 2_000_000)
    for place in (tmp_path, root):
        os.chown(place, *(_NOBODY if os.geteuid() == 0 else (-1, -1)))
    root.chmod(0)
    child = os.fork()
    if child == 0:
        os.chdir(tmp_path)
        with suppress(PermissionError):  # not root
            os.setresuid(_NOBODY[0], _NOBODY[0], _NOBODY[0])
        os._exit(bytes_held(Path("workspace")) > 2_000_000)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_link_in_place_of_a_closed_folder_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (inside / "closed").mkdir(parents=True)

    def refused(parent: int, name: str) -> int:
        if not (inside / "closed").is_symlink():
            (inside / "closed").rmdir()
            (inside / "closed").symlink_to(outside)
        raise PermissionError

    monkeypatch.setattr(safe_open, "open_folder", refused)
    bytes_held(inside)
    assert outside.stat().st_mode & 0o777 == 0o500


async def test_deleting_the_workspace_ends_the_watch(tmp_path: Path) -> None:
    await wait_until_exceeded([tmp_path / "gone"], 1)
