"""Whether a sandbox works here, determined by using it."""

import asyncio
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools_app.errors import ToolError
from tools_app.files import workspace_owner
from tools_app.sandbox.base import Command, Limits, Outcome, Sandbox

_TEXT = "echo works > probe && cat probe | cat"
_LIMITS = Limits(wall_s=10)


def reason_against(sandbox: Sandbox) -> str:
    """Runs a command that writes, reads and forks; returns why that failed, or an empty string. Blocks for it."""
    with tempfile.TemporaryDirectory(prefix="sandbox-probe-") as folder:
        if owner := workspace_owner():
            os.chown(folder, *owner)
        try:
            outcome = _run(sandbox, Command(text=_TEXT, workspace=Path(folder), limits=_LIMITS))
        except (ToolError, OSError) as error:
            return str(error)
    if outcome.exit_code == 0 and outcome.output == "works\n":
        return ""
    if outcome.timed_out:
        return f"A first command did not end within {_LIMITS.wall_s:.0f} s."
    return next(iter(outcome.output.splitlines()), "") or f"A first command ended with exit code {outcome.exit_code}."


def _run(sandbox: Sandbox, command: Command) -> Outcome:
    """In a thread with a loop of its own: the caller may or may not be on an event loop."""

    async def run() -> Outcome:
        return await sandbox.run(command, on_output=lambda text: None, on_start=lambda started: None)

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, run()).result()
