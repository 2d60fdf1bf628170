"""How much a workspace holds, whatever was made in it to hide that."""

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


def _deepened(folder: Path, levels: int) -> int:
    """The innermost of so many folders in folders, open: no path is as long."""
    place = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=place)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    return place


def test_what_lies_very_deep_counts(tmp_path: Path) -> None:
    place = _deepened(tmp_path, 1500)  # as many descriptors, or calls in one another, are more than there are
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


def test_a_file_that_is_empty_counts(tmp_path: Path) -> None:
    for number in range(1000):  # without a bound, they would take all inodes of the disk
        (tmp_path / str(number)).touch()
    assert bytes_held(tmp_path) >= 4_000_000


def test_a_measurement_takes_a_time_that_grows_with_the_depth_and_not_with_its_square(tmp_path: Path) -> None:
    os.close(_deepened(tmp_path, 10_000))
    try:
        began = time.process_time()
        assert bytes_held(tmp_path) >= 0
        assert time.process_time() - began < 2
    finally:
        remove_tree(tmp_path)


def test_a_deep_folder_that_is_moved_meanwhile_leads_nowhere_else(tmp_path: Path, monkeypatch: Any) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "big").write_bytes(b"x" * 2_000_000)
    os.close(_deepened(inside, 100))
    enter = safe_open.force_open_folder

    def moved(parent: int, name: str) -> int:
        if name == ".." and not (outside / "deeper").exists():
            os.rename("../deeper", outside / "deeper", src_dir_fd=parent)
        return enter(parent, name)

    monkeypatch.setattr(safe_open, "force_open_folder", moved)
    assert bytes_held(inside) < 2_000_000
    assert (outside / "deeper").exists()


def test_a_program_that_closes_its_workspace_hides_nothing(tmp_path: Path) -> None:
    """For a server that is not root: root may open everything."""
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


def test_a_link_in_the_place_of_a_closed_folder_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_a_workspace_that_is_deleted_ends_the_watch(tmp_path: Path) -> None:
    await wait_until_exceeded([tmp_path / "gone"], 1)
