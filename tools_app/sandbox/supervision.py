"""Supervises a program: reads its output while it runs, enforces its limits, and ends its whole process group."""

import asyncio
import codecs
import os
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import IO

from tools_app.files import quota
from tools_app.sandbox import memory, process_groups
from tools_app.sandbox.base import Limits, Outcome, Started
from tools_app.sandbox.program import Program

_GRACE_S = 0.5  # between the request to end and the kill

_CHUNK = 64 * 1024
_PAUSE_S = 0.001  # past the limit: a flooding program gets about 60 MB/s and leaves the event loop to others
_CONTINUATION = bytes(range(0x80, 0xC0))


async def supervise(
    program: Program,
    limits: Limits,
    *,
    workspace: Path | None = None,
    on_output: Callable[[str], None],
    on_start: Callable[[Started], None],
) -> Outcome:
    """Runs `program` to its end, to a limit, or until cancelled. Raises OSError if it cannot be started.

    It is started by the thread of the event loop, which lives as long as the server: bubblewrap ends a command
    with the thread that started it.
    """
    output = Output(limits.output, on_output, limits.shown)
    process = program.start()
    assert process.stdout is not None
    reading = asyncio.create_task(output.read_from(process.stdout))
    exited = asyncio.create_task(_exit_of(process.pid))
    greedy = asyncio.create_task(memory.exceeded(process.pid, limits.memory))
    filling = asyncio.create_task(_overflow(workspace, limits.workspace))
    try:
        on_start(process_groups.group_of(process.pid))
        done, _ = await asyncio.wait(
            {exited, greedy, filling}, timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        greedy.cancel()
        filling.cancel()
        await asyncio.shield(_end(process, exited, reading))
    for task in (*done, reading):
        if not task.cancelled():
            task.result()  # an error of ours, or of `on_output`
    return Outcome(
        exit_code=process.returncode if process.returncode >= 0 else 128 - process.returncode,
        output=output.text(),
        truncated=output.truncated,
        timed_out=not done,
        out_of_memory=greedy in done and exited not in done,
        out_of_space=filling in done and exited not in done,
    )


async def _overflow(workspace: Path | None, most: int | None) -> None:
    """Returns when the workspace holds more than it may; never, if there is no bound."""
    if workspace is None or most is None:
        await asyncio.Event().wait()
    else:
        await quota.exceeded(workspace, most)


async def _exit_of(pid: int) -> None:
    """Returns when the process has exited. It stays a zombie: until it is reaped, its pid is not used again."""
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    descriptor = os.pidfd_open(pid)
    loop.add_reader(descriptor, exited.set)
    try:
        await exited.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _end(process: "Popen[bytes]", exited: "asyncio.Task[None]", reading: "asyncio.Task[None]") -> None:
    """Ends what is left of the group, and reaps its leader.

    The end of the output says that the group is empty; asking for it (`killpg(pid, 0)`) would count zombies.
    """
    process_groups.signal_group(process.pid, signal.SIGTERM)
    await asyncio.wait({exited, reading}, timeout=_GRACE_S)
    process_groups.signal_group(process.pid, signal.SIGKILL)
    await exited
    process.wait()
    await asyncio.wait({reading}, timeout=_GRACE_S)
    reading.cancel()  # a process outside the group holds the other end
    await asyncio.wait({reading})


class Output:
    """The first and the last half of `limit` bytes are kept; the first `shown` bytes are shown to `on_output`."""

    def __init__(self, limit: int, on_output: Callable[[str], None], shown: int | None = None) -> None:
        self._limit = limit
        self._shown = limit if shown is None else shown
        self._on_output = on_output
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._head = b""
        self._tail = b""
        self._total = 0

    @property
    def truncated(self) -> bool:
        return self._total > self._limit

    async def read_from(self, pipe: IO[bytes]) -> None:
        """Reads to the end, past the bound too: a program must never wait for a full pipe."""
        stream = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        try:
            while chunk := await stream.read(_CHUNK):
                self.add(chunk)
                if self.truncated:
                    await asyncio.sleep(_PAUSE_S)
        finally:
            transport.close()

    def add(self, chunk: bytes) -> None:
        shown = chunk[: max(0, self._shown - self._total)]
        if text := self._decode(shown):
            self._on_output(text)
        room = max(0, self._limit // 2 - len(self._head))
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[room:])[-(self._limit - self._limit // 2) :]
        self._total += len(chunk)

    def text(self) -> str:
        """All of it, or both ends and a line between them that says how much is missing."""
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)  # without half a character
        tail = self._tail.lstrip(_CONTINUATION).decode("utf-8", "replace")
        return f"{head}\n[… {self._total - self._limit} bytes left out …]\n{tail}"
