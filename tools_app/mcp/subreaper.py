"""The parent of an MCP server's child process. It kills all descendants when the child or this server ends.

Another program (npx, uvx, a shell) can start the server's program, and that can leave its group and its parent. As
their subreaper, this process becomes the parent of all orphans, so none escapes.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 38, 36  # of prctl(2)
_HANDLED_SIGNALS = {signal.SIGTERM, signal.SIGCHLD}


def run(work: Callable[[], None]) -> None:
    """Run `work` in a child, and return when all its descendants have ended.

    SIGTERM, which the kernel also sends when this server ends, ends them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED_SIGNALS)
    options = {_PR_SET_PDEATHSIG: int(signal.SIGTERM), _PR_SET_NO_NEW_PRIVS: 1, _PR_SET_CHILD_SUBREAPER: 1}
    for option, value in options.items():
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED_SIGNALS)
        work()
        return
    for descriptor in (0, 1, 2):  # close the child's pipes here, so that the other ends see its end
        os.close(descriptor)
    while signal.sigwait(_HANDLED_SIGNALS) == signal.SIGCHLD and not _reap(child):
        pass
    _kill_descendants()


def _reap(child: int) -> bool:
    """Reap all processes that have ended, and return whether `child` is one of them."""
    pid = -1
    while pid not in (0, child):
        pid, _ = os.waitpid(-1, os.WNOHANG)
    return pid == child


def _kill_descendants() -> None:
    """Kill all children. Orphans of a killed process become children of this one, and are next."""
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
