"""Memory use of all processes of a session together. Kernel limits count each process separately."""

import asyncio
import os
import resource
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PERIOD_S = 0.25
_PAGE = resource.getpagesize()


async def wait_until_exceeded(
    pid: int, limit: int, siblings: Callable[[], Collection[int]] = frozenset, in_files: Callable[[], int] = int
) -> None:
    """Return once the process `pid` and its descendants use more than `limit` bytes.

    If all `siblings` together exceed the limit, return only for the largest of them. The `in_files` bytes that they
    share count too.
    """
    while not await asyncio.to_thread(_is_the_largest, pid, limit, siblings(), in_files()):  # noqa: ASYNC110  no event
        await asyncio.sleep(_PERIOD_S)


def _is_the_largest(pid: int, limit: int, siblings: Collection[int], in_files: int) -> bool:
    sizes = {process: bytes_held(process, (limit - in_files) // (len(siblings) or 1)) for process in {pid, *siblings}}
    return sum(sizes.values()) + in_files > limit and sizes[pid] == max(sizes.values())


def in_temporary_files(pid: int) -> int:
    """Return the bytes used in the memory file systems that the process sees as /tmp and /dev/shm."""
    used = 0
    for folder in ("tmp", "dev/shm"):
        with suppress(OSError):
            file_system = os.statvfs(f"/proc/{pid}/root/{folder}")
            used += (file_system.f_blocks - file_system.f_bfree) * file_system.f_frsize
    return used


def bytes_held(pid: int, enough: int) -> int:
    """Return the bytes held by a process and its descendants.

    Shared pages are only divided, which is slow, if the rough sum exceeds `enough`.
    """
    family = list(descendants(pid))
    unmapped = _unmapped_memory_files(family)
    resident = unmapped + sum(_resident(member) for member in family)
    return resident if resident <= enough else unmapped + sum(_proportional(member) for member in family)


def _unmapped_memory_files(family: Iterable[int]) -> int:
    """Return bytes in memfd_create(2) files that no process has mapped, which the resident sizes miss."""
    files: dict[int, int] = {}
    for pid in family:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):  # the descriptor has just been closed
                    if os.readlink(descriptor.path).startswith("/memfd:"):
                        status = os.stat(descriptor.path)
                        files[status.st_ino] = status.st_blocks * 512
    if not files:
        return 0
    mapped = sum(_bytes_in(pid, "status", "RssShmem:") or 0 for pid in family)
    return max(0, sum(files.values()) - mapped)


def descendants(pid: int) -> Iterator[int]:
    """Yield `pid` and its descendants. Orphans, which have a new parent, are missing."""
    yield pid
    with suppress(OSError):  # the process has just exited
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from descendants(int(child))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def _proportional(pid: int) -> int:
    """Return the proportional set size (PSS): a page shared by two processes counts half for each."""
    share = _bytes_in(pid, "smaps_rollup", "Pss:")
    return _resident(pid) if share is None else share


def _bytes_in(pid: int, file: str, name: str) -> int | None:
    """Return the bytes listed under `name` in a file of the process, or None if the file cannot be read."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
