"""A program, started in its own process group and without the server's environment or descriptors."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tools_app.files import Owner
from tools_app.sandbox import supervision


@dataclass(frozen=True, kw_only=True)
class Program:
    """`files` are open file descriptors that it inherits under the same numbers. Without `owner` it keeps our uid."""

    words: Sequence[str]
    environment: Mapping[str, str]
    directory: Path = Path("/")
    owner: Owner | None = None
    files: Sequence[int] = ()
    stdin: int = subprocess.DEVNULL

    def start(self) -> "ProcessGroup":
        """Raises OSError if it cannot be started.

        It belongs to the thread that starts it: bubblewrap ends a program with that thread.
        """
        uid, gid = self.owner or (None, None)
        process = subprocess.Popen(
            self.words,
            env=self.environment,
            cwd=self.directory,
            stdin=self.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            pass_fds=self.files,
            start_new_session=True,
            user=uid,
            group=gid,
            extra_groups=[] if self.owner else None,
        )
        return ProcessGroup(process)


class ProcessGroup:
    """A started program with its group: `supervision.Running`."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        self._process = process
        self.pid, self.output = process.pid, process.stdout

    @property
    def siblings(self) -> set[int]:
        return {self.pid}

    @property
    def in_files(self) -> int:
        return 0

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    async def exited(self) -> None:
        """Returns when the process has exited. It stays a zombie: until it is reaped, its pid is not used again."""
        descriptor = os.pidfd_open(self.pid)
        try:
            await readable(descriptor)
        finally:
            os.close(descriptor)

    def left(self) -> list[int]:
        return supervision.members(self.pid)

    async def gone(self) -> None:
        if self._process.returncode is None:
            await self.exited()

    def request_end(self) -> None:
        supervision.signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Nothing, if it has been reaped: its number may be another's."""
        if self._process.returncode is None:
            supervision.signal_group(self.pid, signal.SIGKILL)

    def exit_code(self) -> int:
        code = self._process.wait()
        return code if code >= 0 else 128 - code


async def readable(descriptor: int) -> None:
    """Returns when there is something to read, or the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class MemoryFiles(ExitStack):
    """Files without a name, for what a program must read but `ps` must not show. Open until the `with` block ends."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptors: list[int] = []

    def add(self, content: str) -> int:
        """The descriptor of a file with `content`, at its beginning."""
        descriptor = os.memfd_create("sandbox")
        self.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(os.fsencode(content))
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def adopt(self, descriptor: int) -> int:
        """A duplicate of an open one."""
        duplicate = os.dup(descriptor)
        self.callback(os.close, duplicate)
        self.descriptors.append(duplicate)
        return duplicate
