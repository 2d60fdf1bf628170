"""How much a workspace holds, whatever was made in it to hide that."""

import os
import subprocess
from pathlib import Path

import pytest

from tools_app.files import safe_open
from tools_app.files.quota import bytes_held, exceeded


def test_what_lies_very_deep_counts(tmp_path: Path) -> None:
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1500):  # as many descriptors, or calls in one another, are more than there are
        os.mkdir("deeper", dir_fd=place)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    file = os.open("big", os.O_WRONLY | os.O_CREAT, dir_fd=place)
    os.write(file, b"x" * 2_000_000)
    os.close(file)
    os.close(place)
    try:
        assert bytes_held(tmp_path) > 2_000_000
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "deeper"], check=True)


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
    await exceeded([tmp_path / "gone"], 1)
