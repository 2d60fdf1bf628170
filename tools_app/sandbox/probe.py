"""Probes of a sandbox: whether it works here, and which programs and packages commands find in it."""

import asyncio
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from tools_app.errors import ToolError
from tools_app.files import workspace_owner
from tools_app.sandbox.base import Command, Layer, Limits, Outcome, Sandbox

_TEXT = "echo works > probe && cat probe | cat"
_LIMITS = Limits(wall_s=10)
_PROGRAMS = "python3 pip git node npm curl jq rg zip ffmpeg pandoc pdftotext"
_MOST_PACKAGES = 40
# Prints well-known packages first, then packages that no other one requires and that the system has not installed for
# itself.
_LIST_PACKAGES = r"""
import re
from importlib.metadata import distributions
def plain(name): return re.split(r"[^A-Za-z0-9._-]", name.strip(), maxsplit=1)[0].lower().replace("_", "-")
there = {plain(it.metadata["Name"] or ""): it for it in distributions()}
needed = {plain(other) for it in there.values() for other in it.requires or () if "extra ==" not in other}
known = "numpy pandas matplotlib scipy pillow lxml requests openpyxl pypdf python-docx python-pptx".split()
others = {name for name, it in there.items() if "dist-packages" not in str(it.locate_file(""))}
print(*[it for it in known if it in there], *sorted(others - needed - {*known, "pip", "setuptools", "wheel", ""}))
"""
_LIST = f"""
for it in {_PROGRAMS}; do command -v $it > /dev/null && echo $it; done
echo
python3 -c {quote(_LIST_PACKAGES)}
"""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The notable programs and Python packages that commands find."""

    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


_known: dict[tuple[Sandbox, tuple[Layer, ...]], Contents] = {}


def contents(sandbox: Sandbox, layers: tuple[Layer, ...] = ()) -> Contents:
    """Return the contents of a sandbox, empty if commands cannot run. Cached per process; the first call blocks."""
    if (sandbox, layers) not in _known:
        outcome = _tried(sandbox, _LIST, layers)
        programs, _, packages = outcome.output.partition("\n\n") if isinstance(outcome, Outcome) else ("", "", "")
        names = packages.split()[:_MOST_PACKAGES] if isinstance(outcome, Outcome) and outcome.exit_code == 0 else ()
        _known[sandbox, layers] = Contents(programs=tuple(programs.split()), packages=tuple(names))
    return _known[sandbox, layers]


def reason_against(sandbox: Sandbox) -> str:
    """Run a command that writes, reads and forks. Return the reason why it failed, or ''. Blocks."""
    outcome = _tried(sandbox, _TEXT)
    if isinstance(outcome, str):
        return outcome
    if outcome.exit_code == 0 and outcome.output == "works\n":
        return ""
    if outcome.timed_out:
        return f"A first command did not end within {_LIMITS.wall_s:.0f} s."
    return next(iter(outcome.output.splitlines()), "") or f"A first command ended with exit code {outcome.exit_code}."


def _tried(sandbox: Sandbox, text: str, layers: tuple[Layer, ...] = ()) -> Outcome | str:
    """Run a command in a temporary workspace. Return its outcome, or the reason why it could not run."""
    with tempfile.TemporaryDirectory(prefix="sandbox-probe-") as folder:
        if owner := workspace_owner():
            os.chown(folder, *owner)
        try:
            return _run(sandbox, Command(text=text, workspace=Path(folder), limits=_LIMITS, layers=layers))
        except (ToolError, OSError) as error:
            return str(error)


def _run(sandbox: Sandbox, command: Command) -> Outcome:
    """Run a command in a thread with its own event loop, because the caller may be on one already."""

    async def run() -> Outcome:
        return await sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, run()).result()
