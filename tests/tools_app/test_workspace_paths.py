"""Tests that no path leads out of a workspace: by its text, by a link, or by a link created during the call."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools_app.errors import OutsideWorkspace, ToolError
from tools_app.files import Workspace
from tools_app.files.paths import parts

REFUSED = "refused"

LEADS_OUT = [
    "..",
    "../",
    "../secret.txt",
    "a/../../secret.txt",
    "a/b/../../../secret.txt",
    "./../secret.txt",
    "/etc/passwd",
    "/",
    "//etc/passwd",
    "/workspaces/a",
    "/workspace/../secret.txt",
    "/workspace/../../etc/passwd",
    "/etc/../workspace/a",
    "/proc/self/environ",
    "/./etc/passwd",
]
NO_PATH = ["a\0b", "\0", "\ud800", "a/\udcff", "x" * 5000, "/".join("x" * 70), "a/" * 3000 + "b"]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file next to the workspace that no operation must reach."""
    path = tmp_path / "secret.txt"
    path.write_text("SECRET")
    return path


def every_operation(workspace: Workspace, path: str) -> list[Callable[[], object]]:
    return [
        lambda: workspace.open_for_read(path),
        lambda: workspace.read_bytes(path),
        lambda: workspace.write_bytes(path, b"x"),
        lambda: workspace.append(path, b"x"),
        lambda: workspace.entries(path),
        lambda: workspace.move(path, "moved"),
        lambda: workspace.move("here.txt", path),
        lambda: workspace.delete(path),
    ]


@pytest.mark.parametrize("path", LEADS_OUT)
def test_path_that_leads_out_is_refused_for_every_operation(path: str, workspace: Workspace, secret: Path) -> None:
    workspace.write_bytes("here.txt", b"here")
    for operation in every_operation(workspace, path):
        with pytest.raises(OutsideWorkspace):
            operation()
    assert not workspace.is_file(path)
    assert secret.read_text() == "SECRET"


@pytest.mark.parametrize("path", NO_PATH)
def test_invalid_path_is_refused(path: str, workspace: Workspace) -> None:
    workspace.write_bytes("here.txt", b"here")
    for operation in every_operation(workspace, path):
        with pytest.raises(ToolError):
            operation()
    assert not workspace.is_file(path)
    assert os.listdir(workspace.root) == ["here.txt"]


@pytest.mark.parametrize(
    "path",
    ["a/b.txt", "./a/b.txt", "/workspace/a/b.txt", "a//b.txt", "a/./b.txt", "a/c/../b.txt", "//workspace/a/b.txt"],
)
def test_notations_of_a_path_below_the_root_are_accepted(path: str, workspace: Workspace) -> None:
    workspace.write_bytes("a/b.txt", b"inside")
    assert workspace.read_bytes(path) == b"inside"


@pytest.mark.parametrize("path", ["", ".", "./", "/workspace", "/workspace/", "a/.."])
def test_root_can_be_listed_but_not_replaced_or_deleted(path: str, workspace: Workspace) -> None:
    workspace.write_bytes("here.txt", b"here")
    assert [entry.name for entry in workspace.entries(path)] == ["here.txt"]
    for operation in (workspace.delete, workspace.read_bytes, lambda p: workspace.write_bytes(p, b"x")):
        with pytest.raises(ToolError, match="the workspace itself"):
            operation(path)


@given(st.lists(st.sampled_from(["..", ".", "", "a", "workspace", "b.txt", "...", " ", "\\", "é"])), st.booleans())
def test_any_path_leads_down_or_is_refused(steps: list[str], absolute: bool) -> None:
    path = "/" * absolute + "/".join(steps)
    try:
        names = parts(path)
    except OutsideWorkspace:
        return
    assert not {"..", ".", ""} & set(names)
    below = os.path.normpath(os.path.join("/workspace", path)) if path else "/workspace"
    assert below.replace("//", "/") == "/".join(["/workspace", *names])


@given(st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_accepted_or_refused_with_a_sentence(workspace: Workspace, path: str) -> None:
    with pytest.raises(ToolError) as refused:
        workspace.read_bytes(path)
    assert str(refused.value).endswith((".", "plan.md."))


def test_symlink_that_leads_out_is_refused(workspace: Workspace, secret: Path) -> None:
    workspace.write_bytes("here.txt", b"here")
    (workspace.root / "file").symlink_to(secret)
    (workspace.root / "folder").symlink_to(secret.parent)
    for path in ("file", "folder/secret.txt"):
        for operation in (
            lambda path=path: workspace.read_bytes(path),
            lambda path=path: workspace.write_bytes(path, b"x"),
            lambda path=path: workspace.append(path, b"x"),
            lambda path=path: workspace.entries(path),
        ):
            with pytest.raises(ToolError, match=r"symbolic link|not a folder"):
                operation()
        assert not workspace.is_file(path)
    for operation in (
        lambda: workspace.move("here.txt", "folder/taken.txt"),
        lambda: workspace.move("folder/secret.txt", "taken.txt"),
        lambda: workspace.delete("folder/secret.txt"),
    ):
        with pytest.raises(ToolError, match="symbolic link"):
            operation()
    assert secret.read_text() == "SECRET"
    assert sorted(os.listdir(secret.parent)) == ["secret.txt", "workspace"]


def test_path_of_this_machine_below_the_root_is_one_of_the_workspace(workspace: Workspace) -> None:
    root = str(workspace.make_root())
    workspace.write_bytes(f"{root}/notes/a.txt", b"here")
    assert workspace.read_bytes("notes/a.txt") == b"here"
    assert workspace.relative(root) == workspace.relative(f"{root}/") == "."
    assert workspace.real_path(f"{root}/./notes//a.txt") == "notes/a.txt"
    assert [str(entry) for entry in workspace.visible_entries(f"{root}/notes")] == ["a.txt (4 B)"]
    for path in (f"{root}2/a.txt", f"{root}/../secret.txt", f"{root}x", os.path.dirname(root), f"/other{root}/a.txt"):
        with pytest.raises(OutsideWorkspace):
            workspace.read_bytes(path)
    (workspace.root / "out").symlink_to("/etc")
    with pytest.raises(ToolError, match=r"symbolic link|not a folder"):
        workspace.read_bytes(f"{root}/out/passwd")


def test_paths_of_the_sandbox_take_precedence_over_those_of_this_machine() -> None:
    workspace = Workspace(Path("/workspace/site"))
    assert workspace.relative("/workspace/site/a.txt") == "/workspace/site/a.txt"


def test_paths_of_this_machine_name_the_files_of_the_delegating_task(tmp_path: Path) -> None:
    child = Workspace(tmp_path / "1" / "own", views=[tmp_path])
    assert child.relative(f"{tmp_path}/1/own/a.txt") == "a.txt"
    assert child.relative(f"{tmp_path}/src/a.txt") == "parent/src/a.txt"
    assert child.relative(str(tmp_path)) == "parent"


def test_link_itself_can_be_listed_moved_and_deleted(workspace: Workspace, secret: Path) -> None:
    link = workspace.make_root() / "link"
    link.symlink_to(secret)
    assert "link -> " in workspace.overview().text
    workspace.move("link", "renamed")
    workspace.delete("renamed")
    assert os.listdir(workspace.root) == []
    assert secret.read_text() == "SECRET"


def test_deleting_a_folder_keeps_the_targets_of_its_links(workspace: Workspace, secret: Path) -> None:
    workspace.write_bytes("folder/inner/file.txt", b"x")
    (workspace.root / "folder/inner/out").symlink_to(secret.parent)
    (workspace.root / "folder/out.txt").symlink_to(secret)
    workspace.delete("folder")
    assert os.listdir(workspace.root) == []
    assert secret.read_text() == "SECRET"


def test_fifos_sockets_and_devices_are_refused_without_waiting(workspace: Workspace) -> None:
    os.mkfifo(workspace.make_root() / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(workspace.root / "socket"))
        special = ["fifo", "socket"]
        with suppress(PermissionError):
            os.mknod(workspace.root / "device", 0o20666, os.makedev(1, 3))
            special.append("device")
        for path in special:
            for operation in (
                workspace.read_bytes,
                lambda p: workspace.write_bytes(p, b""),
                lambda p: workspace.append(p, b""),
            ):
                with pytest.raises(ToolError, match="not a regular file"):
                    operation(path)
            assert f"{path} (not a regular file)" in workspace.overview().text


EXCHANGE = """
import ctypes, os, sys
one, other = map(os.fsencode, sys.argv[1:])
exchange = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while True:
    exchange(-100, one, -100, other, 2)  # AT_FDCWD, RENAME_EXCHANGE
"""


@contextmanager
def swapping(one: Path, other: Path) -> Iterator[None]:
    """Run a process that swaps two names as fast as possible until the block ends. Both always exist."""
    process = subprocess.Popen([sys.executable, "-c", EXCHANGE, one, other], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.kill()
        process.communicate()


def outcomes(attempt: Callable[[], object]) -> set[object]:
    """Return the results of at least 500 attempts, and of more until some were refused and some were not."""
    seen: set[object] = set()
    for number in range(50_000):
        try:
            seen.add(attempt())
        except ToolError:
            seen.add(REFUSED)
        if number >= 500 and REFUSED in seen and len(seen) > 1:
            break
    return seen


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    """A folder next to the workspace that no operation must reach."""
    outer = tmp_path / "outer"
    (outer / "deep").mkdir(parents=True)
    (outer / "deep/file.txt").write_text("SECRET")
    return outer


def unchanged(outer: Path) -> bool:
    return [str(path.relative_to(outer)) for path in sorted(outer.rglob("*"))] == ["deep", "deep/file.txt"] and (
        outer / "deep/file.txt"
    ).read_text() == "SECRET"


def test_folder_swapped_for_a_link_during_a_read_reveals_nothing(workspace: Workspace, outer: Path) -> None:
    workspace.write_bytes("folder/deep/file.txt", b"inside")
    workspace.write_bytes("folder/not_outside.txt", b"inside")
    (workspace.root / "link").symlink_to(outer)
    with swapping(workspace.root / "folder", workspace.root / "link"):
        assert outcomes(lambda: workspace.read_bytes("folder/deep/file.txt")) == {b"inside", REFUSED}
        assert outcomes(lambda: len(workspace.entries("folder"))) == {2, REFUSED}


def test_file_swapped_for_a_link_reveals_nothing(workspace: Workspace, outer: Path) -> None:
    workspace.write_bytes("file.txt", b"inside")
    (workspace.root / "link").symlink_to(outer / "deep/file.txt")
    with swapping(workspace.root / "file.txt", workspace.root / "link"):
        assert outcomes(lambda: workspace.read_bytes("file.txt")) == {b"inside", REFUSED}
        assert outcomes(lambda: workspace.append("file.txt", b"more")) == {None, REFUSED}
    assert unchanged(outer)


def test_folder_swapped_for_a_link_during_a_write_changes_nothing_outside(workspace: Workspace, outer: Path) -> None:
    workspace.write_bytes("folder/deep/inside.txt", b"inside")
    (workspace.root / "link").symlink_to(outer)
    with swapping(workspace.root / "folder", workspace.root / "link"):
        assert outcomes(lambda: workspace.write_bytes("folder/deep/file.txt", b"x")) == {None, REFUSED}
        assert outcomes(lambda: workspace.append("folder/deep/file.txt", b"x")) == {None, REFUSED}
        assert outcomes(lambda: workspace.write_bytes("folder/new/file.txt", b"x")) == {None, REFUSED}
        outcomes(lambda: workspace.move("folder/deep/file.txt", "taken.txt"))
        outcomes(lambda: workspace.delete("folder/deep/file.txt"))
    assert unchanged(outer)


def test_folder_swapped_for_a_link_during_a_deletion_deletes_nothing_outside(workspace: Workspace, outer: Path) -> None:
    inner, link = workspace.make_root() / "tree/inner", workspace.root / "link"

    def fill_and_delete() -> None:
        (inner / "deep").mkdir(parents=True)
        link.symlink_to(outer)
        for _ in range(1000):  # an attempt may find a link where it just saw the folder
            for entry in workspace.entries():
                with suppress(ToolError):
                    workspace.delete(entry.name)
            if not workspace.entries():
                break

    with swapping(inner, link):
        for _ in range(100):
            fill_and_delete()
    assert unchanged(outer)
