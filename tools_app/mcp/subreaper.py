"""Keeps a child and whatever it starts: when either the server or the child has ended, all of it is killed.

A program may be started by another one (npx, uvx, a shell), or leave its group and its parent: as their subreaper, this
process becomes the parent of all who lose theirs, so none of them gets away.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

_DIES_WITH_PARENT, _NO_NEW_PRIVILEGES, _ADOPTS = 1, 38, 36  # of prctl(2)
_AWAITED = {signal.SIGTERM, signal.SIGCHLD}


def run(work: Callable[[], None]) -> None:
    """Runs `work` in a child. Comes back when nothing of it is left; SIGTERM, also from the server's end, ends it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    for option, value in ((_DIES_WITH_PARENT, signal.SIGTERM), (_NO_NEW_PRIVILEGES, 1), (_ADOPTS, 1)):
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        work()
        return
    for descriptor in (0, 1, 2):  # the child's: who reads and writes there shall see its end
        os.close(descriptor)
    while signal.sigwait(_AWAITED) == signal.SIGCHLD and not _has_ended(child):
        pass
    _end_all()


def _has_ended(child: int) -> bool:
    """Takes leave of all who have ended."""
    pid = -1
    while pid not in (0, child):
        pid, _ = os.waitpid(-1, os.WNOHANG)
    return pid == child


def _end_all() -> None:
    """The children of who is killed become ours, and are the next."""
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for child in map(int, children):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
