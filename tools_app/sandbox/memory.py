"""Monitors the memory of all processes of a session's commands together: rlimits count each process separately."""

import asyncio
import resource
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

_PERIOD_S = 0.25
_PAGE = resource.getpagesize()


async def exceeded(pid: int, limit: int, siblings: Callable[[], Collection[int]] = frozenset) -> None:
    """Returns once the process `pid` and its descendants hold more than `limit` bytes; or the most of all `siblings`
    with theirs, when these do together."""
    while not await asyncio.to_thread(_is_the_largest, pid, limit, siblings()):  # noqa: ASYNC110  there is no event
        await asyncio.sleep(_PERIOD_S)


def _is_the_largest(pid: int, limit: int, siblings: Collection[int]) -> bool:
    held = {each: bytes_held(each, limit // (len(siblings) or 1)) for each in {pid, *siblings}}
    return sum(held.values()) > limit and held[pid] == max(held.values())


def bytes_held(pid: int, enough: int) -> int:
    """Bytes held by a process and its descendants. Shared pages are divided only if the rough sum is over `enough`."""
    family = list(descendants(pid))
    rough = sum(_resident(member) for member in family)
    return rough if rough <= enough else sum(_proportional(member) for member in family)


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
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # a process may forbid to look into it; then it counts in full
        return _resident(pid)
    return 0
