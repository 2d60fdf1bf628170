"""The workshop: Python packages for commands, installed once into a folder next to the server's data.

It is a virtual environment of the interpreter that commands use, with the packages of requirements/workshop.txt.
Commands see it read-only, together with the user's site-packages: `pip install` writes to the home of the session.
These come first, so that a session can install another version of a package.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shutil import which

from tools_app.sandbox.base import Layer
from tools_app.sandbox.bubblewrap import python_prefix
from tools_app.sandbox.shell_command import PATH

MOUNT = Path("/opt/workshop")
OFF, AUTOMATIC = "0", "1"  # values of AGENTSITE_WORKSHOP; any other is the folder of an installed workshop

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "workshop.txt"
_SECONDS = 900
# The head of a script that finds the interpreter next to itself: uv writes it, and pip's scripts get it.
_SCRIPT_HEAD = b"""#!/bin/sh
'''exec' "$(dirname -- "$(realpath -- "$0")")"/'python3' "$0" "$@"
' '''
"""
# Pip refuses to shadow packages that are in the environment's own site-packages, so they move to the folder `packages`.
_PATHS = """import site, sys; sys.flags.no_user_site or site.addsitedir(site.getusersitepackages())
import site, sys; site.addsitedir(f"{sys.prefix}/packages")
"""
# Variables passed on to pip and uv. They configure how packages are fetched, and exclude the server's secrets.
_PASSED_VARIABLES = (
    *("PIP_", "UV_", "SSL_", "XDG_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "HOME", "PATH", "LANG"),
)


class CannotInstall(Exception):
    """The packages for commands could not be installed."""


def layer(setting: str, var: Path) -> Layer | None:
    """Return the installed workshop, or None.

    `setting` is AGENTSITE_WORKSHOP, `var` the folder of the server's data.
    """
    if setting == OFF:
        return None
    folder = _workshop_folder(var) if setting == AUTOMATIC else Path(setting)
    return Layer(folder=folder, mount=MOUNT) if folder and folder.is_dir() else None


def is_missing(setting: str, var: Path) -> bool:
    """Return whether the workshop should be installed and is not."""
    return setting == AUTOMATIC and layer(setting, var) is None


def install(var: Path) -> None:
    """Install the workshop in a draft folder, then rename it, so that it is never incomplete. Blocks.

    Other processes wait for the lock.

    Raises: CannotInstall with a sentence that gives the reason.
    """
    folder, python = _workshop_folder(var), _interpreter()
    if folder is None or python is None:
        raise CannotInstall("commands have no Python")
    with _install_lock(var) as lock:
        if folder.is_dir():
            return
        prefix, _, _ = folder.name.rpartition("-")
        for outdated in folder.parent.glob(f"{prefix}-*"):  # same interpreter, older requirements
            shutil.rmtree(outdated, ignore_errors=True)
        draft = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(draft, ignore_errors=True)
        for argv in _install_commands(python, draft):
            _run(argv, lock)
        _make_scripts_relocatable(draft)
        _put_behind_installed_packages(draft)
        _run(["chmod", "-R", "a+rX", str(draft)], lock)  # commands may run as another user
        draft.rename(folder)


def _install_commands(python: Path, draft: Path) -> Iterator[Sequence[str]]:
    """Yield the commands that install it, with uv or else with pip. Wheels only: no package code runs on the server."""
    draft_python = str(draft / "bin" / "python3")
    selection = ["--only-binary", ":all:", "--require-hashes", "-r", str(_REQUIREMENTS)]
    if uv := which("uv", path=str(Path(sys.executable).parent)):
        yield [
            uv,
            "venv",
            "--no-project",
            "--relocatable",
            "--system-site-packages",
            "--python",
            str(python),
            str(draft),
        ]
        yield [uv, "pip", "install", "--python", draft_python, "--compile-bytecode", *selection]
    else:
        yield [str(python), "-m", "venv", "--without-pip", "--system-site-packages", str(draft)]
        yield [sys.executable, "-m", "pip", "--python", draft_python, "install", "--ignore-installed", *selection]


def _make_scripts_relocatable(draft: Path) -> None:
    """Replace the head of the scripts that name the draft's interpreter: commands see the folder at another path."""
    for script in draft.glob("bin/*"):
        content = script.read_bytes() if script.is_file() and not script.is_symlink() else b""
        if content.startswith(b"#!" + os.fsencode(draft)):
            script.write_bytes(_SCRIPT_HEAD + content.partition(b"\n")[2])


def _put_behind_installed_packages(draft: Path) -> None:
    """Let packages that a session installs precede those of the workshop. The Dockerfile does the same."""
    for folder in draft.glob("lib/python3.*/site-packages"):
        folder.rename(draft / "packages")
        folder.mkdir()
        (folder / "workshop.pth").write_text(_PATHS)


def _run(argv: Sequence[str], lock: int) -> None:
    """Run one step. A child that outlives the server keeps the lock, so that the next installation waits for it."""
    environment = {name: value for name, value in os.environ.items() if name.upper().startswith(_PASSED_VARIABLES)}
    try:
        ended = subprocess.run(
            argv, env=environment, umask=0o022, pass_fds=[lock], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from error
    if ended.returncode:
        messages = [line.strip() for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
        raise CannotInstall(messages[-1][:300] if messages else f"{argv[0]} ended with exit code {ended.returncode}")


@contextmanager
def _install_lock(var: Path) -> Iterator[int]:
    descriptor = os.open(var / "workshop.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@cache
def _workshop_folder(var: Path) -> Path | None:
    """Return the workshop's folder, named after the interpreter and the content of the requirements."""
    if (python := _interpreter()) is None:
        return None
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]
    return var / f"workshop-{python.resolve().name}-{digest}"


def _interpreter() -> Path | None:
    """Return the Python that commands find."""
    prefix = python_prefix()
    path = which("python3", path=f"{PATH}:{prefix / 'bin'}" if prefix else PATH)
    return Path(path) if path else None
