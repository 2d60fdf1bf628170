"""A program from its start to its end: read while it runs, held to its limits, and gone with all of its group."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

from tools_app.files import quota
from tools_app.sandbox import memory, process_groups
from tools_app.sandbox.base import Limits, Outcome, Started
from tools_app.sandbox.output import Output
from tools_app.sandbox.program import Program

_GRACE_S = 0.5  # between the request to end and the kill


async def supervise(
    program: Program,
    limits: Limits,
    *,
    workspace: Path | None = None,
    on_output: Callable[[str], None],
    on_start: Callable[[Started], None],
) -> Outcome:
    """Runs `program` to its end, to a limit, or until cancelled. Raises OSError if it cannot be started.

    It is started by the thread of the event loop, which lives as long as the server: bubblewrap ends a command
    with the thread that started it.
    """
    output = Output(limits.output, on_output, limits.shown)
    process = program.start()
    assert process.stdout is not None
    reading = asyncio.create_task(output.read_from(process.stdout))
    exited = asyncio.create_task(_exit_of(process.pid))
    greedy = asyncio.create_task(memory.exceeded(process.pid, limits.memory))
    filling = asyncio.create_task(_overflow(workspace, limits.workspace))
    try:
        on_start(process_groups.of(process.pid))
        done, _ = await asyncio.wait(
            {exited, greedy, filling}, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        greedy.cancel()
        filling.cancel()
        await asyncio.shield(_end(process, exited, reading))
    for task in (*done, reading):
        if not task.cancelled():
            task.result()  # an error of ours, or of `on_output`
    return Outcome(
        exit_code=process.returncode if process.returncode >= 0 else 128 - process.returncode,
        output=output.text(),
        truncated=output.truncated,
        timed_out=not done,
        out_of_memory=greedy in done and exited not in done,
        out_of_space=filling in done and exited not in done,
    )


async def _overflow(workspace: Path | None, most: int | None) -> None:
    """Returns when the workspace holds more than it may; never, if there is no bound."""
    if workspace is None or most is None:
        await asyncio.Event().wait()
    else:
        await quota.exceeded(workspace, most)


async def _exit_of(pid: int) -> None:
    """Returns when the process has exited. It stays a zombie: until it is reaped, its pid means nobody else."""
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    descriptor = os.pidfd_open(pid)
    loop.add_reader(descriptor, exited.set)
    try:
        await exited.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _end(process: "Popen[bytes]", exited: "asyncio.Task[None]", reading: "asyncio.Task[None]") -> None:
    """Ends what is left of the group, and reaps its leader.

    The end of the output says that the group is empty; asking for it (`killpg(pid, 0)`) would count zombies.
    """
    process_groups.send(process.pid, signal.SIGTERM)
    await asyncio.wait({exited, reading}, timeout=_GRACE_S)
    process_groups.send(process.pid, signal.SIGKILL)
    await exited
    process.wait()
    await asyncio.wait({reading}, timeout=_GRACE_S)
    reading.cancel()  # somebody outside of the group holds the other end
    await asyncio.wait({reading})
