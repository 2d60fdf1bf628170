"""The parent of an MCP server's child process. It kills all descendants when the child or this server ends.

Another program (npx, uvx, a shell) can start the server's program, and that can leave its group and its parent. As
their subreaper, this process becomes the parent of all orphans, so none escapes.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

_DIES_WITH_PARENT, _NO_NEW_PRIVILEGES, _ADOPTS = 1, 38, 36  # of prctl(2)
_AWAITED = {signal.SIGTERM, signal.SIGCHLD}


def run(work: Callable[[], None]) -> None:
    """Run `work` in a child, and return when all its descendants have ended.

    SIGTERM, which the kernel also sends when this server ends, ends them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    for option, value in ((_DIES_WITH_PARENT, signal.SIGTERM), (_NO_NEW_PRIVILEGES, 1), (_ADOPTS, 1)):
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        work()
        return
    for descriptor in (0, 1, 2):  # close the child's pipes here, so that the other ends see its end
        os.close(descriptor)
    while signal.sigwait(_AWAITED) == signal.SIGCHLD and not _has_ended(child):
        pass
    _end_all()


def _has_ended(child: int) -> bool:
    """Reap all processes that have ended, and return whether `child` is one of them."""
    pid = -1
    while pid not in (0, child):
        pid, _ = os.waitpid(-1, os.WNOHANG)
    return pid == child


def _end_all() -> None:
    """Kill all children. Orphans of a killed process become children of this one, and are next."""
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
