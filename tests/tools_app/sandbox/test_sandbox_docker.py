"""Tests of the docker backend with a fake client, which runs the container's shell directly."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import takes_less_than
from tools_app.sandbox import CommandLimits, CommandOutcome, ShellCommand
from tools_app.sandbox.docker import Docker

CLIENT = """#!/bin/sh
echo "$@" >> {log}
case $1 in run) exec sh;; esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (folder := tmp_path / "bin").mkdir()
    (folder / "docker").write_text(CLIENT.format(log=tmp_path / "log"))
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return tmp_path / "log"


def run(text: str, show: Callable[[str], None] = lambda text: None, **limits: Any) -> CommandOutcome:
    environment = {"TOKEN": "se'sa\nme $HOME"}
    command = ShellCommand(
        text=text,
        workspace=Path("/srv/w"),
        home=Path("/srv/h"),
        limits=CommandLimits(**limits),
        environment=environment,
    )
    return asyncio.run(Docker().run(command, on_output=show, on_start=lambda started: None))


def test_command_and_environment_arrive_unchanged(log: Path) -> None:
    outcome = run("""echo "$TOKEN"; echo 'it''s' "$((1 + 2))"; cat; exit 3""")
    assert outcome == CommandOutcome(exit_code=3, output="se'sa\nme $HOME\nits 3\n")


def test_command_and_environment_are_not_in_the_arguments(log: Path) -> None:
    run("echo hidden-words")
    assert "hidden-words" not in log.read_text()
    assert "sesa" not in log.read_text().replace("'", "")


def test_container_gets_limits_and_no_network(log: Path) -> None:
    run("true", memory=10**9, processes=7)
    words = log.read_text().split()
    assert {"--network=none", "--read-only", "--cap-drop=ALL", "--pids-limit=7", "--memory=1000000000"} <= set(words)
    assert "--mount=type=bind,source=/srv/w,target=/workspace" in words
    assert "--mount=type=bind,source=/srv/h,target=/home/agent" in words
    assert not [word for word in words if word.startswith("--user=0")]


@pytest.mark.parametrize("limits", [{}, {"wall_s": 0.2}])
def test_container_is_always_removed(log: Path, limits: dict[str, float]) -> None:
    with takes_less_than(5):
        outcome = run("sleep 0.4", **limits)
        assert outcome.timed_out == bool(limits)
        first, last = log.read_text().splitlines()
        name = next(word.removeprefix("--name=") for word in first.split() if word.startswith("--name="))
        assert last == f"rm --force {name}"
