"""How much a workspace holds on disk, measured once or monitored while a command runs."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tools_app.files import safe_open
from tools_app.files.paths import MAX_DEPTH

_PERIOD_S = 0.25
_SHARE = 4  # a measurement that takes long is repeated more seldom: at most a fifth of the time goes into it


def bytes_held(root: Path, enough: int | None = None) -> int:
    """Bytes on disk below `root`. No link is followed; counting ends at more than `enough`."""
    count = _Count(enough)
    while count.left and not count.is_enough:
        names = count.left.pop()
        with suppress(OSError), safe_open.folder(root, names, _enter) as folder:  # or it has gone meanwhile
            count.add(folder, names)
    return count.total


class _Count:
    """Each level on the way down holds a descriptor. Deeper folders are `left` and entered again from the root."""

    def __init__(self, enough: int | None) -> None:
        self.total, self._enough = 0, enough
        self.left: list[tuple[str, ...]] = [()]

    @property
    def is_enough(self) -> bool:
        return self._enough is not None and self.total > self._enough

    def add(self, folder: int, names: tuple[str, ...], depth: int = MAX_DEPTH) -> None:
        """All that is in an open folder, which lies at `names`."""
        for name in os.listdir(folder):
            if self.is_enough:
                return
            with suppress(OSError):  # it has gone meanwhile
                status = os.lstat(name, dir_fd=folder)
                self.total += status.st_blocks * 512  # a file with holes counts what it takes
                if stat.S_ISDIR(status.st_mode):
                    self._add_inner(folder, (*names, name), depth)

    def _add_inner(self, parent: int, names: tuple[str, ...], depth: int) -> None:
        if not depth:
            self.left.append(names)
            return
        folder = _enter(parent, names[-1])
        try:
            self.add(folder, names, depth - 1)
        finally:
            os.close(folder)


def _enter(parent: int, name: str) -> int:
    try:
        return safe_open.open_folder(parent, name)
    except PermissionError:  # a command may close a folder of its own; what it hides counts all the same
        place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)  # this exact folder, even if a link has replaced it
        finally:
            os.close(place)
        return safe_open.open_folder(parent, name)


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
