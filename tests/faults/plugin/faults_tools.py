"""Tools that write a line to a file for each run, so that runs can be counted outside the server."""

import asyncio
import errno
import json
import os
import signal
import time
import uuid

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolResult, tool


class ProbeArguments(Arguments):
    mark: str
    seconds: float = 0.0


def _note(mark: str, run: str, event: str) -> None:
    line = json.dumps({"mark": mark, "run": run, "event": event, "pid": os.getpid(), "at": time.time()})
    file = os.open(os.environ["FAULTS_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        data = f"\n{line}\n".encode()  # on its own line, even after a line that a full disk has cut
        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, "the line does not fit")
        os.fsync(file)
    finally:
        os.close(file)


async def _run(arguments: ProbeArguments) -> ToolResult:
    run = uuid.uuid4().hex
    _note(arguments.mark, run, "began")
    try:
        await asyncio.sleep(arguments.seconds)
    except asyncio.CancelledError:
        _note(arguments.mark, run, "cancelled")
        raise
    _note(arguments.mark, run, "ended")
    return ToolResult(content=f"run {run}")


def _add(name: str, danger: Danger) -> None:
    @tool(
        name=name,
        description="Notes that it ran.",
        arguments=ProbeArguments,
        danger=danger,
        target=Target.ENGINE,
        compact_template=f"{name} {{mark}}",
    )
    async def handler(arguments: ProbeArguments, context: ToolContext) -> ToolResult:
        return await _run(arguments)


for _danger in Danger:
    _add(f"probe_{_danger.word}", _danger)


@tool(
    name="kill_server",
    description="Ends the process that runs it, as `kill -9` does.",
    arguments=ProbeArguments,
    danger=Danger.MODERATE,
    target=Target.ENGINE,
    compact_template="kill_server {mark}",
)
async def kill_server(arguments: ProbeArguments, context: ToolContext) -> ToolResult:
    await asyncio.sleep(arguments.seconds)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it lives")
