"""Tests of copies of a workspace: complete, limited, and with nothing from outside."""

import os
import stat
from pathlib import Path

import pytest

from tools_app.files import Workspace
from tools_app.files.workspace_copy import copy


@pytest.fixture
def target(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "copy")


def test_files_modes_folders_and_links_are_copied_unchanged(workspace: Workspace, target: Workspace) -> None:
    workspace.write_bytes("a/b/run.sh", b"#!/bin/sh\n")
    (workspace.root / "a/b/run.sh").chmod(0o755)
    (workspace.root / "empty").mkdir()
    (workspace.root / "link").symlink_to("a/b/run.sh")
    assert copy(workspace, target) == 0
    assert (target.root / "a/b/run.sh").read_bytes() == b"#!/bin/sh\n"
    assert stat.S_IMODE((target.root / "a/b/run.sh").stat().st_mode) == 0o755
    assert (target.root / "empty").is_dir()
    assert os.readlink(target.root / "link") == "a/b/run.sh"


def test_link_to_an_outside_file_is_copied_as_a_link(workspace: Workspace, target: Workspace, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret")
    (workspace.make_root() / "folder").symlink_to(tmp_path / "outside")
    (workspace.root / "file").symlink_to(tmp_path / "outside/secret")
    assert copy(workspace, target) == 0
    assert (target.root / "folder").is_symlink()
    assert (target.root / "file").is_symlink()
    assert not [path for path in target.root.rglob("*") if not path.is_symlink()]


def test_fifo_is_left_out_without_blocking(workspace: Workspace, target: Workspace) -> None:
    os.mkfifo(workspace.make_root() / "pipe")
    workspace.write_bytes("kept.txt", b"text")
    assert copy(workspace, target) == 1
    assert os.listdir(target.root) == ["kept.txt"]


def test_copy_is_limited_and_takes_outer_files_first(workspace: Workspace, target: Workspace) -> None:
    workspace.write_bytes("big.bin", b"x" * 2000)
    workspace.write_bytes("aa/inner.txt", b"x" * 400)
    workspace.write_bytes("small.txt", b"x" * 700)
    assert copy(workspace, target, most_bytes=1000) == 2
    assert sorted(str(path.relative_to(target.root)) for path in target.root.rglob("*")) == ["aa", "small.txt"]
    assert copy(workspace, Workspace(target.root.with_name("second")), most_entries=2) == 1


def test_empty_workspace_gives_an_empty_copy(workspace: Workspace, target: Workspace) -> None:
    assert copy(workspace, target) == 0
    assert os.listdir(target.root) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_copies_belong_to_the_owner_of_the_workspace(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write_bytes("a/file", b"x")
    (workspace.root / "link").symlink_to("a")
    owned = Workspace(tmp_path / "copy", owner=(65_531, 65_531))
    copy(workspace, owned)
    assert {path.lstat().st_uid for path in owned.root.rglob("*")} == {65_531}
