"""Tests that deletions need approval unless the history of the workspace can undo them."""

import os
from pathlib import Path

import pytest

from tools_app.contract import Danger
from tools_app.files import FileHistory, Workspace, snapshot
from tools_app.shell.danger import judgement

FOLDER = "deletes a folder with everything in it"
NOT_KEPT = "deletes what the file history does not keep"


@pytest.fixture
def kept(workspace: Workspace, tmp_path: Path) -> Workspace:
    """A workspace where the history stores all of `app` except some files."""
    for path in (
        "build/a.o",
        "docs/a.md",
        "app/.git/HEAD",
        "app/main.py",
        "web/node_modules/x.js",
        "web/__pycache__/x.pyc",
        "notes.txt",
    ):
        workspace.write_bytes(path, b"x")
    (workspace.root / "linked").symlink_to("web/node_modules")
    workspace.history = FileHistory(tmp_path / "history")
    return workspace


HELD = [
    "rm -rf build",
    "rm -rf ./build/ docs && make",
    "rm -rf /workspace/build",
    "rm -rf build/*",
    "rm -f build/*.o",
    "set -e; sudo rm -r build",
    "timeout 5 rm -rf build",
    "find build -type f -delete",
    "rm notes.txt",
    "rm -rf linked",
    "rm -rf web",  # only a cache of it is not stored
    "rm -rf web/node_modules/x.js web/__pycache__",
    "rm -rf nowhere",
    "cd app && rm -rf build",
    "cd build && rm -f a.o",
    "mv web/node_modules x; rm -rf build",
    "ln -s /etc x; rm -rf build",
    "sh -c 'rm -rf build'",
    "find build -exec rm -rf {} +",
    "python3 -c 'import shutil; shutil.rmtree(\"build\")'",
    "mkdir new && echo x > new/x && rm -rf new",
    "for x in build docs; do rm -rf $x; done",
    "rm -rf {build,docs}",
]
NOT_HELD = [
    "rm -rf app",
    "rm -rf app/.git",
    "rm -rf linked/",
    "rm -rf linked/*",
    "rm -rf linked/x.js",
    "rm -rf *",
    "find . -delete",
    "find -L build -delete",
    "for x in *; do rm -rf $x; done",
    "rm -rf ~",
    "rm -rf build/../app",
    "rm -rf build/*/../../app",
    "rm -rf build/*/x.js",
    "rm -rf build/*/",
    "rm -rf {build,app}",
    "rm -rf build/[secret:FOLDER]",
    "rm -rf $HOME/x",
    "ssh host rm -rf build",
    "env -C app rm -rf build",
    "ls | xargs rm -rf",
    "git -C app clean -fd",
    "rm app/.git/HEAD",
    "cd app && rm -rf .git",
    "cd app; rm -rf .git",
    "(cd app && rm -rf .git)",
    "cd nowhere; rm -rf app",
    "cd build && rm -rf ../app",
    "mv app build; rm -rf build",
    "ln -s ../app build/x; rm -rf build/x/*",
    "sh -c 'mv app new'; rm -rf new",
    "sh -c 'rm -rf app'",
    "find app -exec rm -rf {} +",
    "python3 -c 'import shutil; shutil.rmtree(\"app\")'",
]


@pytest.mark.parametrize("text", HELD)
def test_restorable_deletion_is_moderate(text: str, kept: Workspace) -> None:
    assert judgement(text, kept).danger is Danger.MODERATE


@pytest.mark.parametrize("text", NOT_HELD)
def test_unrestorable_or_unknown_deletion_is_dangerous(text: str, kept: Workspace) -> None:
    judged = judgement(text, kept)
    assert judged.danger is Danger.DANGEROUS
    assert "deletes" in judged.rule


def test_fully_restorable_workspace_can_be_deleted(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write_bytes("a/b.txt", b"x")
    workspace.history = FileHistory(tmp_path / "history")
    for text in ("git clean -fdx", "git reset --hard", "rm *", "find . -delete"):
        assert judgement(text, workspace).danger is Danger.MODERATE
    assert judgement("mv a x && rm -rf x", workspace).danger is Danger.DANGEROUS
    workspace.is_isolated = True  # then x cannot lead to files of the machine
    assert judgement("mv a x && rm -rf x", workspace).danger is Danger.MODERATE


def test_reason_names_the_deletion_so_that_approval_covers_no_other(kept: Workspace) -> None:
    assert judgement("rm -rf app", kept).rule == f"{FOLDER}: rm -rf app (not in the file history: app/.git/)"
    assert judgement("rm app/.git/HEAD", kept).rule.startswith(f"{NOT_KEPT}: rm app/.git/HEAD")
    long = [judgement(f"rm -rf app {'x' * 200}{name}", kept).rule for name in "ab"]
    assert long[0] != long[1]
    assert all(len(rule) < 300 for rule in long)


def test_other_rules_are_unaffected(kept: Workspace) -> None:
    assert judgement("rm -rf build; reboot", kept).rule == "turns the machine off"
    assert judgement("rm /etc/passwd", kept).rule == "writes outside of the workspace"


def test_unusual_path_raises_nothing(kept: Workspace) -> None:
    for path in ("x" * 5000, "a/" * 100, os.fsdecode(b"\xff"), "$'\\0'", "$(("):
        assert judgement(f"rm -rf {path} app", kept).danger is Danger.DANGEROUS


def test_temporary_files_and_home_are_free_in_a_sandbox_only(kept: Workspace, tmp_path: Path) -> None:
    kept.home = tmp_path / "home"
    kept.home.mkdir()
    (kept.home / "x").touch()
    commands = [
        "rm -rf ~",
        "rm -rf $HOME/x",
        f"rm -rf {tmp_path}",
        f"cd {tmp_path} && rm -rf .",
        f"> {tmp_path}/home/x",
    ]
    assert all(judgement(text, kept).danger is Danger.DANGEROUS for text in commands)
    assert judgement("rm -rf ~/absent /tmp/absent-file", kept).danger is Danger.MODERATE
    kept.is_isolated = True
    assert all(judgement(text, kept).danger is Danger.MODERATE for text in commands)
    assert judgement("HOME=app; rm -rf $HOME", kept).danger is Danger.DANGEROUS


@pytest.mark.parametrize(
    "command",
    ["cd data && rm big.bin", "sh -c 'rm data/big.bin'", "busybox rm data/big.bin", "rm data/{big,small}.bin", "rm $FILE",
     "env -C data rm big.bin", "ls data | while read x; do rm data/$x; done"],
)  # fmt: skip
def test_deleting_a_large_file_needs_approval_in_any_folder(kept: Workspace, command: str) -> None:
    assert judgement(command, kept).danger == Danger.MODERATE
    kept.write_bytes("data/big.bin", bytes(snapshot.MAX_FILE_BYTES + 1))
    judged = judgement(command, kept)
    assert judged.danger == Danger.DANGEROUS
    assert NOT_KEPT in judged.rule
    assert "data/big.bin" in judged.rule
    assert judgement("cd data && rm small.bin", kept).danger == Danger.MODERATE
