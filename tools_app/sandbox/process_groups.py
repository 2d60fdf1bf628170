"""A process group, known by its leader's pid and start time."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from tools_app.sandbox.base import Started


def of(pid: int) -> Started:
    """The group that the process `pid` leads. Raises ProcessLookupError if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(pid) from None
    after_name = stat.rpartition(")")[2].split()  # the name may contain anything, even spaces and brackets
    return Started(pid=pid, start_time=int(after_name[19]))


def send(pid: int, number: signal.Signals) -> None:
    """A signal to the whole group, if there is anybody left in it."""
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
