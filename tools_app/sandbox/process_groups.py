"""A process group, known by its leader's pid and start time."""

import os
import select
import signal
from contextlib import suppress
from pathlib import Path

from tools_app.sandbox.base import Started

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
    """What the process was started with, shortened; empty for one that has ended."""
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
