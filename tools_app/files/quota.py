"""Disk use of a workspace, measured once or monitored while a command runs."""

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
_MIN_ENTRY_BYTES = 4096  # bytes counted for any entry: an empty file uses an inode, and a disk has a limited number
_PAUSE_FACTOR = 4  # slow measurements are repeated less often, so that they take at most a fifth of the time


def bytes_held(root: Path, enough: int | None = None) -> int:
    """Return the bytes on disk below `root`, without following links. Counting stops above `enough`."""
    count = _DiskUse(enough)
    # OSError: the root may not exist.
    with suppress(OSError), safe_open.folder(root.parent, [root.name], safe_open.force_open_folder) as folder:
        count.add_all(folder)
    return count.total


@dataclass
class _OpenFolder:
    """An open folder on the way down, and the names of its subfolders that are not counted yet."""

    folder: int
    inner: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._identity = _identity(self.folder)

    def close(self) -> None:
        if self.folder >= 0:
            os.close(self.folder)
        self.folder = -1

    def reopen_above(self, below: int) -> bool:
        """Reopen it as the parent of `below`. Return False if it was moved."""
        if self.folder >= 0:
            return True
        with suppress(OSError):
            self.folder = safe_open.force_open_folder(below, "..")
            if _identity(self.folder) == self._identity:
                return True
            self.close()
        return False


class _DiskUse:
    """A walk that adds up the disk use of a tree.

    Each of the upper levels holds a descriptor. Deeper levels are closed, and reopened from below through `..`.
    Reopening them from the root would take quadratic time in the depth, during which programs could fill the disk.
    """

    def __init__(self, enough: int | None) -> None:
        self.total, self._limit = 0, enough

    @property
    def is_over_limit(self) -> bool:
        return self._limit is not None and self.total > self._limit

    def add_all(self, root: int) -> None:
        """Count everything below an open folder."""
        levels = [_OpenFolder(os.dup(root))]
        try:
            self._add(levels[0])
            while levels and not self.is_over_limit:
                step = self._descend if levels[-1].inner else self._ascend
                step(levels)
        finally:
            for level in levels:
                level.close()

    def _descend(self, levels: list[_OpenFolder]) -> None:
        above = levels[-1]
        with suppress(OSError):  # already gone
            levels.append(_OpenFolder(safe_open.force_open_folder(above.folder, above.inner.pop())))
            if len(levels) > MAX_DEPTH:
                above.close()
            self._add(levels[-1])

    @staticmethod
    def _ascend(levels: list[_OpenFolder]) -> None:
        child = levels.pop()
        if levels and not levels[-1].reopen_above(child.folder):
            del levels[MAX_DEPTH - 1 :]  # all closed levels; the next measurement counts their contents
        child.close()

    def _add(self, level: _OpenFolder) -> None:
        """Count the direct entries of a folder."""
        for name in os.listdir(level.folder):
            with suppress(OSError):  # already gone
                status = os.lstat(name, dir_fd=level.folder)
                self.total += max(status.st_blocks * 512, _MIN_ENTRY_BYTES)  # sparse files count as on disk
                if stat.S_ISDIR(status.st_mode):
                    level.inner.append(name)
            if self.is_over_limit:
                return


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


async def wait_until_exceeded(roots: Sequence[Path], max_bytes: int) -> None:
    """Return when there are more than `max_bytes` below `roots`, usually within a second.

    Keep waiting while the total shrinks, so that files can be deleted in a workspace that is too full. A workspace that
    was too full from the start must only not grow, because a program may take some time before it deletes files.
    """
    previous, was_full = sys.maxsize, None
    while (free := _free_bytes(roots[0])) is not None:
        started = time.monotonic()
        used = await asyncio.to_thread(_total_bytes, roots, max_bytes)
        was_full = used > max_bytes if was_full is None else was_full
        if used > max_bytes:
            used = await asyncio.to_thread(_total_bytes, roots)
            if used > previous or (used == previous and not was_full):
                return
        previous = used if used > max_bytes else sys.maxsize
        await asyncio.sleep(_PERIOD_S)
        pause = time.monotonic() + _PAUSE_FACTOR * (time.monotonic() - started - _PERIOD_S)
        remaining = max_bytes - used
        while time.monotonic() < pause and free - (_free_bytes(roots[0]) or 0) <= remaining:  # noqa: ASYNC110  no event
            await asyncio.sleep(_PERIOD_S)


def _total_bytes(roots: Sequence[Path], enough: int | None = None) -> int:
    return sum(bytes_held(root, enough) for root in roots)


def _free_bytes(root: Path) -> int | None:
    """Return the free bytes on the disk, or None if `root` is gone.

    When these shrink by more than the remaining quota, it is time to measure again.
    """
    try:
        status = os.statvfs(root)
    except FileNotFoundError:
        return None
    return status.f_bavail * status.f_frsize
