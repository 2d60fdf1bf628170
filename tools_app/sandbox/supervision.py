"""Supervision of a command: its output, its limits, and the end of all its processes."""

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
from tools_app.sandbox.base import CommandLimits, CommandOutcome, ProcessIdentity
from tools_app.sandbox.output import CommandOutput

_EXIT_TIMEOUT_MS = 2000
_MAX_COMMAND_LINE = 60  # characters


def process_identity(pid: int) -> ProcessIdentity:
    """Return the process group that `pid` leads.

    Raises: ProcessLookupError if there is no such process.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    after_name = stat.rpartition(")")[2].split()  # the name may contain spaces and brackets
    return ProcessIdentity(pid=pid, start_time=int(after_name[19]))


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of the process and its ended children, in seconds; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def group_members(pid: int) -> list[int]:
    """Return the pids of the group without its leader."""
    others = (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdecimal() and entry.name != str(pid))
    return [other for other in others if _group_id(other) == pid]


def _group_id(pid: int) -> int:
    """Return the group of a process, or 0 if it has just exited."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def command_line(pid: int) -> str:
    """Return the command line of a process, shortened; '' if the process has ended."""
    try:
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    line = " ".join(" ".join(arguments).split())
    return line if len(line) <= _MAX_COMMAND_LINE else f"{line[: _MAX_COMMAND_LINE - 1]}…"


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to the entire group, if it still has a process."""
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def end_group(started: ProcessIdentity) -> None:
    """Kill the group and wait up to two seconds for its leader. Do nothing if the pid was reused."""
    with suppress(ProcessLookupError):
        leader = os.pidfd_open(started.pid)
        try:
            if process_identity(started.pid) == started:  # checked after opening: from here on the pid cannot be reused
                signal_group(started.pid, signal.SIGKILL)
                poll = select.poll()
                poll.register(leader, select.POLLIN)
                poll.poll(_EXIT_TIMEOUT_MS)
        finally:
            os.close(leader)


_GRACE_S = 0.5  # between SIGTERM and SIGKILL
_PIPELINE_END_S, _PIPELINE_CHECKS = 0.1, 5  # a pipeline may end a little after its shell

_SAMPLING_S = 0.5  # the kernel counts CPU time in ticks, so it ends a process a little early or late


class RunningCommand(Protocol):
    """A running command.

    `siblings` are the pids of all commands that share its memory limit, including its own. `bytes_in_files` is the
    number of bytes of that memory held in files.
    """

    pid: int
    output: IO[bytes]

    @property
    def siblings(self) -> Collection[int]: ...

    @property
    def bytes_in_files(self) -> int: ...

    async def wait_until_exited(self) -> None:
        """Wait until the exit code is known. The pid is not reused before `exit_code` is called."""

    def remaining_pids(self) -> list[int]:
        """Return the pids of its remaining processes, once the first has exited."""

    async def wait_until_gone(self) -> None:
        """Wait until no process is left, after `kill`."""

    def terminate(self) -> None:
        """Send SIGTERM to all its processes."""

    def kill(self) -> None: ...

    def reap(self) -> int:
        """Release its resources and return the exit code; 128 + n for signal n."""


async def supervise(
    running: RunningCommand,
    limits: CommandLimits,
    *,
    folders: Sequence[Path] = (),
    on_output: Callable[[str], None],
    on_start: Callable[[ProcessIdentity], None],
) -> CommandOutcome:
    """Supervise a command until it ends, exceeds a limit or is cancelled. No process of it is left.

    `folders` together must not grow beyond the limit of a workspace.
    """
    left_behind: tuple[str, ...] = ()
    output = CommandOutput(limits.output, on_output, limits.streamed)
    reading = asyncio.create_task(output.read_from(running.output))
    exited = asyncio.create_task(running.wait_until_exited())
    memory_watch = asyncio.create_task(
        memory.wait_until_exceeded(running.pid, limits.memory, lambda: running.siblings, lambda: running.bytes_in_files)
    )
    disk_watch = asyncio.create_task(_wait_for_overflow(folders, limits.workspace))
    try:
        on_start(process_identity(running.pid))
        done, _ = await asyncio.wait(
            {exited, memory_watch, disk_watch}, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED
        )
        computed = cpu_seconds(running.pid) if exited in done else 0.0
        if exited in done:
            left_behind = await _left_behind(running)
    finally:
        memory_watch.cancel()
        disk_watch.cancel()
        ending = asyncio.create_task(_end_command(running, exited, reading))
        await asyncio.shield(ending)
    for task in (*done, reading):
        if not task.cancelled():
            task.result()  # an internal error, or one of `on_output`
    exit_code = ending.result()
    return CommandOutcome(
        exit_code=exit_code,
        output=output.stored.text(),
        truncated=output.stored.truncated,
        timed_out=not done,
        out_of_memory=memory_watch in done and exited not in done,
        out_of_space=disk_watch in done and exited not in done,
        out_of_cpu_time=exit_code == 128 + signal.SIGKILL and computed > limits.processor_s - _SAMPLING_S,
        left_behind=left_behind,
    )


async def _wait_for_overflow(folders: Sequence[Path], max_bytes: int | None) -> None:
    """Return when the folders exceed the limit; never, if there is none."""
    if not folders or max_bytes is None:
        await asyncio.Event().wait()
    else:
        await quota.wait_until_exceeded(folders, max_bytes)


async def _left_behind(running: RunningCommand) -> tuple[str, ...]:
    """Return the command lines of processes that outlive their shell, apart from the short end of a pipeline."""
    for _ in range(_PIPELINE_CHECKS):
        if not running.remaining_pids():
            return ()
        await asyncio.sleep(_PIPELINE_END_S / _PIPELINE_CHECKS)
    return tuple(filter(None, map(command_line, running.remaining_pids())))


async def _end_command(running: RunningCommand, exited: "asyncio.Task[None]", reading: "asyncio.Task[None]") -> int:
    """End the remaining processes and return the exit code.

    The end of the output shows that nothing is left; `killpg(pid, 0)` would count zombies.
    """
    running.terminate()
    await asyncio.wait({exited, reading}, timeout=_GRACE_S)
    running.kill()
    await running.wait_until_gone()
    await asyncio.wait({exited})
    await asyncio.wait({reading}, timeout=_GRACE_S)
    reading.cancel()  # a process outside the group holds the other end
    await asyncio.wait({reading})
    return running.reap()
