"""Monitors the memory of all processes of a session's commands together: rlimits count each process separately."""

import asyncio
import os
import resource
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_PERIOD_S = 0.25
_PAGE = resource.getpagesize()


async def exceeded(
    pid: int, limit: int, siblings: Callable[[], Collection[int]] = frozenset, in_files: Callable[[], int] = int
) -> None:
    """Returns once the process `pid` and its descendants hold more than `limit` bytes; or the most of all `siblings`
    with theirs, when these do together. The bytes `in_files` that they share count as well."""
    while not await asyncio.to_thread(_is_the_largest, pid, limit, siblings(), in_files()):  # noqa: ASYNC110  no event
        await asyncio.sleep(_PERIOD_S)


def _is_the_largest(pid: int, limit: int, siblings: Collection[int], in_files: int) -> bool:
    held = {each: bytes_held(each, (limit - in_files) // (len(siblings) or 1)) for each in {pid, *siblings}}
    return sum(held.values()) + in_files > limit and held[pid] == max(held.values())


def in_temporary_files(pid: int) -> int:
    """Bytes of the file systems in memory that the process sees as /tmp and /dev/shm."""
    held = 0
    for place in ("tmp", "dev/shm"):
        with suppress(OSError):
            file_system = os.statvfs(f"/proc/{pid}/root/{place}")
            held += (file_system.f_blocks - file_system.f_bfree) * file_system.f_frsize
    return held


def bytes_held(pid: int, enough: int) -> int:
    """Bytes held by a process and its descendants. Shared pages are divided only if the rough sum is over `enough`."""
    family = list(descendants(pid))
    unnamed = _in_unnamed_files(family)
    rough = unnamed + sum(_resident(member) for member in family)
    return rough if rough <= enough else unnamed + sum(_proportional(member) for member in family)


def _in_unnamed_files(family: Iterable[int]) -> int:
    """What lies in files of memfd_create(2) beyond what the processes have mapped: their own count leaves it out."""
    files: dict[int, int] = {}
    for pid in family:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as descriptors:
            for descriptor in descriptors:
                with suppress(OSError):  # it has just been closed
                    if os.readlink(descriptor.path).startswith("/memfd:"):
                        status = os.stat(descriptor.path)
                        files[status.st_ino] = status.st_blocks * 512
    return max(0, sum(files.values()) - sum(_mapped(pid) for pid in family)) if files else 0


def _mapped(pid: int) -> int:
    """Bytes of memory files that the process has mapped."""
    return _bytes_in(pid, "status", "RssShmem:") or 0


def descendants(pid: int) -> Iterator[int]:
    """Itself, and those of them that have not lost their parent."""
    yield pid
    with suppress(OSError):  # it has just exited
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from descendants(int(child))


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except OSError:
        return 0


def _proportional(pid: int) -> int:
    """Its share: a page that two processes share counts half for each (PSS)."""
    share = _bytes_in(pid, "smaps_rollup", "Pss:")
    return _resident(pid) if share is None else share


def _bytes_in(pid: int, file: str, name: str) -> int | None:
    """Bytes that the process's file names; None where it may not be read."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)
