"""What a crashed server left behind: ended by recovery before its task goes on."""

import os
import select
import signal
from contextlib import suppress

from tools_app.sandbox import process_groups
from tools_app.sandbox.base import Started

_GONE_WITHIN_MS = 2000


def end(started: Started) -> None:
    """Kills the group and waits until its leader is gone, at most two seconds. Nothing if the pid has a new owner."""
    with suppress(ProcessLookupError):
        leader = os.pidfd_open(started.pid)
        try:
            if process_groups.of(started.pid) == started:  # read after opening: from here on the pid is this process
                process_groups.send(started.pid, signal.SIGKILL)
                _wait_for_exit(leader)
        finally:
            os.close(leader)


def _wait_for_exit(process: int) -> None:
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.poll(_GONE_WITHIN_MS)
