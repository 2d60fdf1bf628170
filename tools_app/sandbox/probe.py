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
from tools_app.sandbox.base import CommandLimits, CommandOutcome, Layer, Sandbox, ShellCommand

_TEST_COMMAND = "echo works > probe && cat probe | cat"
_LIMITS = CommandLimits(wall_s=10)
_PROGRAMS = "python3 ruff git gcc make java go cargo node npm sqlite3 curl jq rg chromium libreoffice ffmpeg pandoc"
_EXPECTED = "python3 git gcc make java node npm curl jq rg libreoffice ffmpeg pandoc"
_MAX_PACKAGES = 40
# Prints well-known packages first, then packages that no other one requires and that the system has not installed for
# itself.
_LIST_PACKAGES = r"""
import re
from importlib.metadata import distributions
def plain(name): return re.split(r"[^A-Za-z0-9._-]", name.strip(), maxsplit=1)[0].lower().replace("_", "-")
there = {plain(it.metadata["Name"] or ""): it for it in distributions()}
needed = {plain(other) for it in there.values() for other in it.requires or () if "extra ==" not in other}
known = "numpy pandas matplotlib scipy pillow lxml openpyxl pypdf python-docx python-pptx requests httpx".split()
known += "flask jinja2 pydantic sqlalchemy rich pytest pytest-cov pytest-xdist hypothesis".split()
others = {name for name, it in there.items() if "dist-packages" not in str(it.locate_file(""))}
programs = {"pip", "setuptools", "wheel", "ruff", "ripgrep", ""}
print(*[it for it in known if it in there], *sorted(others - needed - programs - {*known}))
"""
_LIST_CONTENTS = f"""
for it in {_PROGRAMS}; do command -v $it > /dev/null && echo $it; done
echo
python3 -c {quote(_LIST_PACKAGES)}
"""


@dataclass(frozen=True, kw_only=True)
class SandboxContents:
    """The notable programs and Python packages that commands find, and common programs that they do not."""

    programs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


_cache: dict[tuple[Sandbox, tuple[Layer, ...]], SandboxContents] = {}


def sandbox_contents(sandbox: Sandbox, layers: tuple[Layer, ...] = ()) -> SandboxContents:
    """Return the contents of a sandbox, empty if commands cannot run. Cached per process; the first call blocks."""
    if (sandbox, layers) not in _cache:
        outcome = _try_command(sandbox, _LIST_CONTENTS, layers)
        if isinstance(outcome, str):
            _cache[sandbox, layers] = SandboxContents()
        else:
            text, _, packages = outcome.output.partition("\n\n")
            programs = text.split()
            _cache[sandbox, layers] = SandboxContents(
                programs=tuple(programs),
                missing=tuple(name for name in _EXPECTED.split() if name not in programs),
                packages=tuple(packages.split()[:_MAX_PACKAGES]) if outcome.exit_code == 0 else (),
            )
    return _cache[sandbox, layers]


def probe_failure(sandbox: Sandbox) -> str:
    """Run a command that writes, reads and forks. Return the reason why it failed, or ''. Blocks."""
    outcome = _try_command(sandbox, _TEST_COMMAND)
    if isinstance(outcome, str):
        return outcome
    if outcome.exit_code == 0 and outcome.output == "works\n":
        return ""
    if outcome.timed_out:
        return f"A first command did not end within {_LIMITS.wall_s:.0f} s."
    return next(iter(outcome.output.splitlines()), "") or f"A first command ended with exit code {outcome.exit_code}."


def _try_command(sandbox: Sandbox, text: str, layers: tuple[Layer, ...] = ()) -> CommandOutcome | str:
    """Run a command in a temporary workspace. Return its outcome, or the reason why it could not run."""
    with tempfile.TemporaryDirectory(prefix="sandbox-probe-") as folder:
        if owner := workspace_owner():
            os.chown(folder, *owner)
        try:
            return _run(sandbox, ShellCommand(text=text, workspace=Path(folder), limits=_LIMITS, layers=layers))
        except (ToolError, OSError) as error:
            return str(error)


def _run(sandbox: Sandbox, command: ShellCommand) -> CommandOutcome:
    """Run a command in a thread with its own event loop, because the caller may be on one already."""

    async def run() -> CommandOutcome:
        return await sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, run()).result()
