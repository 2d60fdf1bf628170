"""A minimal server that runs one command in a sandbox. A separate program can run as another user, or be killed.

It reads a JSON object from stdin (`backend`, `text`, `workspace`; optional `limits`, `environment`, and `cancel_at`,
the output at which the command is cancelled). It writes one with the outcome, or with the reason why there is none.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools_app.errors import ToolError
from tools_app.sandbox import CommandLimits, Sandbox, ShellCommand
from tools_app.sandbox.choice import choose_sandbox


async def run(sandbox: Sandbox, *, cancel_at: str = "", limits: Any = (), **order: Any) -> dict[str, Any]:
    command = ShellCommand(limits=CommandLimits(**dict(limits)), **order)
    shown: list[str] = []

    def show(text: str) -> None:
        shown.append(text)
        if cancel_at and cancel_at in "".join(shown):
            running.cancel()

    running = asyncio.ensure_future(sandbox.run(command, on_output=show, on_start=lambda started: None))
    try:
        return asdict(await running) | {"shown": "".join(shown)}
    except asyncio.CancelledError:
        return {"cancelled": True}
    except ToolError as error:
        return {"refused": str(error)}


def main() -> None:
    order = json.load(sys.stdin)
    workspace = Path(order.pop("workspace"))
    answer = asyncio.run(run(choose_sandbox(order.pop("backend")), workspace=workspace, **order))
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
