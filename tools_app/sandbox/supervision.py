"""Supervises a command: reads its output while it runs, enforces its limits, and ends all of its processes."""

import asyncio
import signal
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import IO, Protocol

from tools_app.files import quota
from tools_app.sandbox import memory, process_groups
from tools_app.sandbox.base import Limits, Outcome, Started
from tools_app.sandbox.output import Output

_GRACE_S = 0.5  # between the request to end and the kill
_ENDS_ITSELF_S, _LOOKS = 0.1, 5  # the end of a pipeline may come after that of its shell

_SAMPLING_S = 0.5  # the kernel counts a process's time in ticks, so it ends one a little early or late


class Running(Protocol):
    """A command that runs. `siblings` are the pids of those that share its limit of memory, with its own; `in_files` is
    how much of it lies in files."""

    pid: int
    output: IO[bytes]

    @property
    def siblings(self) -> Collection[int]: ...

    @property
    def in_files(self) -> int: ...

    async def exited(self) -> None:
        """Returns when its exit code is known; until `exit_code`, its pid is not used again."""

    def left(self) -> list[int]:
        """The pids of its processes but the first, once that has exited."""

    async def gone(self) -> None:
        """Returns when nothing of it is left, after `kill`."""

    def request_end(self) -> None:
        """SIGTERM to all of it."""

    def kill(self) -> None: ...

    def exit_code(self) -> int:
        """Frees what it holds; a signal n shows as 128 + n."""


async def supervise(
    running: Running,
    limits: Limits,
    *,
    folders: Sequence[Path] = (),
    on_output: Callable[[str], None],
    on_start: Callable[[Started], None],
) -> Outcome:
    """Accompanies a command to its end, to a limit, or until cancelled; in every case nothing of it is left.

    `folders` together may hold as much as a workspace.
    """
    left_behind: tuple[str, ...] = ()
    output = Output(limits.output, on_output, limits.shown)
    reading = asyncio.create_task(output.read_from(running.output))
    exited = asyncio.create_task(running.exited())
    greedy = asyncio.create_task(
        memory.exceeded(running.pid, limits.memory, lambda: running.siblings, lambda: running.in_files)
    )
    filling = asyncio.create_task(_overflow(folders, limits.workspace))
    try:
        on_start(process_groups.group_of(running.pid))
        done, _ = await asyncio.wait(
            {exited, greedy, filling}, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED
        )
        computed = process_groups.processor_seconds(running.pid) if exited in done else 0.0
        if exited in done:
            left_behind = await _left_behind(running)
    finally:
        greedy.cancel()
        filling.cancel()
        ending = asyncio.create_task(_end(running, exited, reading))
        await asyncio.shield(ending)
    for task in (*done, reading):
        if not task.cancelled():
            task.result()  # an error of ours, or of `on_output`
    exit_code = ending.result()
    return Outcome(
        exit_code=exit_code,
        output=output.kept.text(),
        truncated=output.kept.truncated,
        timed_out=not done,
        out_of_memory=greedy in done and exited not in done,
        out_of_space=filling in done and exited not in done,
        out_of_cpu_time=exit_code == 128 + signal.SIGKILL and computed > limits.processor_s - _SAMPLING_S,
        left_behind=left_behind,
    )


async def _overflow(folders: Sequence[Path], most: int | None) -> None:
    """Returns when the folders hold more than they may; never, if there is no bound."""
    if not folders or most is None:
        await asyncio.Event().wait()
    else:
        await quota.exceeded(folders, most)


async def _left_behind(running: Running) -> tuple[str, ...]:
    """The command lines of processes that do not end with their shell by themselves, as the end of a pipeline does."""
    for _ in range(_LOOKS):
        if not running.left():
            return ()
        await asyncio.sleep(_ENDS_ITSELF_S / _LOOKS)
    return tuple(filter(None, map(process_groups.command_line, running.left())))


async def _end(running: Running, exited: "asyncio.Task[None]", reading: "asyncio.Task[None]") -> int:
    """Ends what is left of it; returns its exit code.

    The end of the output says that nothing is left; asking for it (`killpg(pid, 0)`) would count zombies.
    """
    running.request_end()
    await asyncio.wait({exited, reading}, timeout=_GRACE_S)
    running.kill()
    await running.gone()
    await asyncio.wait({exited})
    await asyncio.wait({reading}, timeout=_GRACE_S)
    reading.cancel()  # a process outside the group holds the other end
    await asyncio.wait({reading})
    return running.exit_code()
