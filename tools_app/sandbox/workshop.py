"""The workshop: Python packages for commands, installed once into a folder beside the server's data.

It is a virtual environment of the interpreter that commands see, with requirements/workshop.txt in it. Commands see it
read-only. It also sees the user's own site-packages: what `pip install` adds goes into the home of the session.
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
OFF, AUTOMATIC = "0", "1"  # the values of AGENTSITE_WORKSHOP; any other is the folder of one that is installed

_REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements" / "workshop.txt"
_SECONDS = 900
# Of the server's environment: how packages are fetched, and none of its secrets.
_KEPT = ("PIP_", "UV_", "SSL_", "XDG_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "HOME", "PATH", "LANG")


class CannotInstall(Exception):
    """The packages for commands could not be installed."""


def layer(setting: str, var: Path) -> Layer | None:
    """The workshop, if there is one; `setting` is AGENTSITE_WORKSHOP, `var` the folder of the server's data."""
    if setting == OFF:
        return None
    folder = _folder(var) if setting == AUTOMATIC else Path(setting)
    return Layer(folder=folder, mount=MOUNT) if folder and folder.is_dir() else None


def is_missing(setting: str, var: Path) -> bool:
    """Whether it shall be installed, and is not."""
    return setting == AUTOMATIC and layer(setting, var) is None


def install(var: Path) -> None:
    """Built aside and renamed, so it is there whole or not at all; other processes wait. Blocks for its time.

    Raises CannotInstall with a sentence that says why.
    """
    folder, python = _folder(var), _interpreter()
    if folder is None or python is None:
        raise CannotInstall("commands have no Python")
    with _locked(var) as lock:
        if folder.is_dir():
            return
        _remove_others(folder)
        draft = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(draft, ignore_errors=True)
        for words in _steps(python, draft):
            _run(words, lock)
        draft.rename(folder)


def _steps(python: Path, draft: Path) -> Iterator[Sequence[str]]:
    """With uv, else with pip. Wheels only: no code of a package runs on the server."""
    own = str(draft / "bin" / "python3")
    wanted = ["--only-binary", ":all:", "--require-hashes", "-r", str(_REQUIREMENTS)]
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
        yield [uv, "pip", "install", "--python", own, "--compile-bytecode", *wanted]
    else:
        yield [str(python), "-m", "venv", "--without-pip", "--system-site-packages", str(draft)]
        yield [sys.executable, "-m", "pip", "--python", own, "install", "--ignore-installed", *wanted]
    yield ["chmod", "-R", "a+rX", str(draft)]  # commands may run as another user


def _run(words: Sequence[str], lock: int) -> None:
    """The lock goes along: a child that outlives the server is waited for by the next one."""
    environment = {name: value for name, value in os.environ.items() if name.upper().startswith(_KEPT)}
    try:
        ended = subprocess.run(
            words, env=environment, umask=0o022, pass_fds=[lock], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from error
    if ended.returncode:
        said = [line.strip() for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
        raise CannotInstall(said[-1][:300] if said else f"{words[0]} ended with exit code {ended.returncode}")


@contextmanager
def _locked(var: Path) -> Iterator[int]:
    descriptor = os.open(var / "workshop.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@cache
def _folder(var: Path) -> Path | None:
    """Named for the interpreter and the content of the requirements: another one is another workshop."""
    if (python := _interpreter()) is None:
        return None
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]
    return var / f"workshop-{python.resolve().name}-{digest}"


def _remove_others(folder: Path) -> None:
    """Those of the same interpreter with older requirements."""
    kind, _, _ = folder.name.rpartition("-")
    for other in folder.parent.glob(f"{kind}-*"):
        shutil.rmtree(other, ignore_errors=True)


def _interpreter() -> Path | None:
    """The Python that commands find."""
    prefix = python_prefix()
    found = which("python3", path=f"{PATH}:{prefix / 'bin'}" if prefix else PATH)
    return Path(found) if found else None
