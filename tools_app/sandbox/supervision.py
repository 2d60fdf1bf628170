"""Supervision of a command: its output while it runs, its limits, and the end of all of its processes."""

import asyncio
import os
import select
import signal
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from tools_app.files import quota
from tools_app.sandbox import memory
from tools_app.sandbox.base import Limits, Outcome, Started
from tools_app.sandbox.output import Output

_GONE_WITHIN_MS = 2000
_LONGEST_LINE = 60  # characters of a command line


def group_of(pid: int) -> Started:
    """The group that the process `pid` leads. Raises ProcessLookupError if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    after_name = stat.rpartition(")")[2].split()  # the name may contain anything, even spaces and brackets
    return Started(pid=pid, start_time=int(after_name[19]))


def processor_seconds(pid: int) -> float:
    """Return how long the process and its children that have ended have computed; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def members(pid: int) -> list[int]:
    """The pids of the group's processes but its leader."""
    found = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal() and entry.name != str(pid))
    return [each for each in found if _group(each) == pid]


def _group(pid: int) -> int:
    """0 where the process has just exited."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def command_line(pid: int) -> str:
    """Return the command line of a process, shortened; '' if the process has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(" ".join(words).split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def signal_group(pid: int, number: signal.Signals) -> None:
    """Sends a signal to the whole group, if any process is left in it."""
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def end_group(started: Started) -> None:
    """Kills the group and waits until its leader is gone, at most two seconds. Nothing if the pid has a new owner."""
    with suppress(ProcessLookupError):
        leader = os.pidfd_open(started.pid)
        try:
            if group_of(started.pid) == started:  # read after opening: from here on the pid is this process
                signal_group(started.pid, signal.SIGKILL)
                _wait_for_exit(leader)
        finally:
            os.close(leader)


def _wait_for_exit(process: int) -> None:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.poll(_GONE_WITHIN_MS)


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
        on_start(group_of(running.pid))
        done, _ = await asyncio.wait(
            {exited, greedy, filling}, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED
        )
        computed = processor_seconds(running.pid) if exited in done else 0.0
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
    return tuple(filter(None, map(command_line, running.left())))


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
