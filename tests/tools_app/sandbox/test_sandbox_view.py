"""Tests of the file system that a command sees, with the project or the only Python in unusual places."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tools_app.errors import SandboxUnavailable
from tools_app.files import workspace_owner
from tools_app.sandbox import ShellCommand, bubblewrap
from tools_app.sandbox.choice import choose_sandbox


def run(text: str, folder: Path) -> str:
    if reason := (sandbox := choose_sandbox("bubblewrap")).probe():
        pytest.skip(f"bubblewrap does not work here: {reason}")
    (workspace := folder / "workspace").mkdir()
    if owner := workspace_owner():
        os.chown(workspace, *owner)
    command = ShellCommand(text=text, workspace=workspace)
    return asyncio.run(sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)).output


def test_system_python_is_sufficient(tmp_path: Path) -> None:
    (tmp_path / "python3").touch()
    assert bubblewrap.python_prefix(tmp_path / "python3") is None


def test_base_interpreter_is_mounted_without_system_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "3.11"))
    assert bubblewrap.python_prefix(tmp_path / "none") == tmp_path / "3.11"


@pytest.mark.parametrize("prefix", ["/", str(Path.home()), str(Path(__file__).parents[3])])
def test_prefix_with_a_home_or_the_project_is_not_mounted(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", prefix)
    assert bubblewrap.python_prefix(Path("/no/such/python3")) is None


def test_private_prefix_works_for_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (programs := tmp_path / "3.11" / "bin").mkdir(parents=True)
    (programs / "greet").write_text("#!/bin/sh\necho hello\n")
    (programs / "greet").chmod(0o755)
    tmp_path.chmod(0o700)
    monkeypatch.setattr(bubblewrap, "python_prefix", lambda: tmp_path / "3.11")
    assert run("greet; touch $(dirname $(which greet))/x 2>&1 | grep -o Read-only", tmp_path) == "hello\nRead-only\n"


def test_project_below_the_system_folder_is_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("ls /usr/share | wc -l", tmp_path) != "0\n"
    monkeypatch.setattr(bubblewrap, "_PROJECT", Path("/usr/share"))
    (second := tmp_path / "second").mkdir()
    assert run("ls /usr/share | wc -l", second) == "0\n"


def test_workspace_below_the_system_folder_is_refused() -> None:
    with pytest.raises(SandboxUnavailable, match="AGENTSITE_VAR"):
        bubblewrap.system_files(Path("/usr/local/var/workspaces/1"))
