"""How much a workspace holds on disk, measured once or monitored while a command runs."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools_app.files import safe_open
from tools_app.files.paths import MAX_DEPTH

_PERIOD_S = 0.25
_LEAST = 4096  # bytes that any entry counts: an empty file takes an inode, of which a disk has only so many
_SHARE = 4  # a measurement that takes long is repeated more seldom: at most a fifth of the time goes into it


def bytes_held(root: Path, enough: int | None = None) -> int:
    """Bytes on disk below `root`. No link is followed; counting ends at more than `enough`."""
    count = _Count(enough)
    with suppress(OSError), safe_open.folder(root.parent, [root.name], safe_open.enter) as folder:  # or it is gone
        count.add_all(folder)
    return count.total


@dataclass
class _Level:
    """An open folder on the way down, and the names of those in it that are still to be counted."""

    folder: int
    inner: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._identity = _identity(self.folder)

    def close(self) -> None:
        if self.folder >= 0:
            os.close(self.folder)
        self.folder = -1

    def found_again(self, below: int) -> bool:
        """Opens it as the folder above `below`, unless that was moved meanwhile."""
        if self.folder >= 0:
            return True
        with suppress(OSError):
            self.folder = safe_open.enter(below, "..")
            if _identity(self.folder) == self._identity:
                return True
            self.close()
        return False


class _Count:
    """Each of the upper levels on the way down holds a descriptor. A deeper one is closed, and found again from below:
    from the root, a measurement would take the square of the depth, and programs could fill the disk meanwhile.
    """

    def __init__(self, enough: int | None) -> None:
        self.total, self._enough = 0, enough

    @property
    def is_enough(self) -> bool:
        return self._enough is not None and self.total > self._enough

    def add_all(self, root: int) -> None:
        """All that is below an open folder."""
        levels = [_Level(os.dup(root))]
        try:
            self._add(levels[0])
            while levels and not self.is_enough:
                step = self._down if levels[-1].inner else self._up
                step(levels)
        finally:
            for level in levels:
                level.close()

    def _down(self, levels: list[_Level]) -> None:
        above = levels[-1]
        with suppress(OSError):  # it has gone meanwhile
            levels.append(_Level(safe_open.enter(above.folder, above.inner.pop())))
            if len(levels) > MAX_DEPTH:
                above.close()
            self._add(levels[-1])

    @staticmethod
    def _up(levels: list[_Level]) -> None:
        left = levels.pop()
        if levels and not levels[-1].found_again(left.folder):
            del levels[MAX_DEPTH - 1 :]  # all that are closed: the next measurement counts what is left there
        left.close()

    def _add(self, level: _Level) -> None:
        """All that is in a folder, without what is further down."""
        for name in os.listdir(level.folder):
            with suppress(OSError):  # it has gone meanwhile
                status = os.lstat(name, dir_fd=level.folder)
                self.total += max(status.st_blocks * 512, _LEAST)  # a file with holes counts what it takes
                if stat.S_ISDIR(status.st_mode):
                    level.inner.append(name)
            if self.is_enough:
                return


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


async def exceeded(roots: Sequence[Path], most: int) -> None:
    """Returns once there are more than `most` bytes below `roots`, within a second of it at the usual sizes.

    While they become fewer, it waits: else nothing could be deleted in a workspace that is too full. One that was too
    full from the start may only not grow: a program that deletes may take its time to begin.
    """
    before, was_full = sys.maxsize, None
    while (free := _free(roots[0])) is not None:
        began = time.monotonic()
        used = await asyncio.to_thread(_bytes_together, roots, most)
        was_full = used > most if was_full is None else was_full
        if used > most:
            used = await asyncio.to_thread(_bytes_together, roots)
            if used > before or (used == before and not was_full):
                return
        before = used if used > most else sys.maxsize
        await asyncio.sleep(_PERIOD_S)
        pause = time.monotonic() + _SHARE * (time.monotonic() - began - _PERIOD_S)
        while time.monotonic() < pause and free - (_free(roots[0]) or 0) <= most - used:  # noqa: ASYNC110  there is no event
            await asyncio.sleep(_PERIOD_S)


def _bytes_together(roots: Sequence[Path], enough: int | None = None) -> int:
    return sum(bytes_held(root, enough) for root in roots)


def _free(root: Path) -> int | None:
    """Bytes free on its disk: when these shrink by more than what is left to write, it is time to measure. None when
    `root` is gone.
    """
    try:
        status = os.statvfs(root)
    except FileNotFoundError:
        return None
    return status.f_bavail * status.f_frsize
