"""How much a workspace holds on disk, and a watch over it while a command runs."""

import asyncio
import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from tools_app import beneath

_PERIOD_S = 0.25
_SHARE = 4  # a measurement that takes long is repeated more seldom: at most a fifth of the time goes into it


def held(root: Path, enough: int | None = None) -> int:
    """Bytes on disk below `root`. No link is followed; counting ends at more than `enough`."""
    if not root.is_dir():
        return 0
    with beneath.folder(root, ()) as folder:
        return _held(folder, enough)


def _held(folder: int, enough: int | None) -> int:
    total = 0
    for name in os.listdir(folder):
        with suppress(OSError):  # it has gone meanwhile
            status = os.lstat(name, dir_fd=folder)
            total += status.st_blocks * 512  # a file with holes counts what it takes
            if stat.S_ISDIR(status.st_mode):
                total += _inside(folder, name, None if enough is None else enough - total)
        if enough is not None and total > enough:
            break
    return total


def _inside(folder: int, name: str, enough: int | None) -> int:
    try:
        inner = beneath.open_folder(folder, name)
    except PermissionError:  # a command may close a folder of its own; what it hides counts all the same
        os.chmod(name, 0o700, dir_fd=folder)
        inner = beneath.open_folder(folder, name)
    try:
        return _held(inner, enough)
    finally:
        os.close(inner)


async def exceeded(root: Path, most: int) -> None:
    """Returns once there are more than `most` bytes below `root`, within a second of it at the usual sizes."""
    while True:
        began, free = time.monotonic(), _free(root)
        used = await asyncio.to_thread(held, root, most)
        if used > most:
            return
        await asyncio.sleep(_PERIOD_S)
        pause = time.monotonic() + _SHARE * (time.monotonic() - began - _PERIOD_S)
        while time.monotonic() < pause and free - _free(root) <= most - used:  # noqa: ASYNC110  there is no event
            await asyncio.sleep(_PERIOD_S)


def _free(root: Path) -> int:
    """Bytes free on its disk: when these shrink by more than what is left to write, it is time to measure."""
    status = os.statvfs(root)
    return status.f_bavail * status.f_frsize
