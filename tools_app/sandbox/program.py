"""A program started in its own process group, without the server's environment or file descriptors."""

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
class ProcessSpec:
    """A program to start. It inherits the open file descriptors `files`. Without `owner` it keeps the server's uid."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    directory: Path = Path("/")
    owner: Owner | None = None
    files: Sequence[int] = ()
    stdin: int = subprocess.DEVNULL

    def start(self) -> "ProcessGroup":
        """Start the program from the current thread. bubblewrap ends a program when that thread ends.

        Raises: OSError if it cannot be started.
        """
        uid, gid = self.owner or (None, None)
        process = subprocess.Popen(
            self.argv,
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
    """A started program with its process group, as `supervision.RunningCommand`."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        self._process = process
        self.pid, self.output = process.pid, process.stdout

    @property
    def siblings(self) -> set[int]:
        return {self.pid}

    @property
    def bytes_in_files(self) -> int:
        return 0

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    async def wait_until_exited(self) -> None:
        """Wait until the process has exited. It stays a zombie until it is reaped, so its pid is not reused."""
        descriptor = os.pidfd_open(self.pid)
        try:
            await wait_until_readable(descriptor)
        finally:
            os.close(descriptor)

    def remaining_pids(self) -> list[int]:
        return supervision.group_members(self.pid)

    async def wait_until_gone(self) -> None:
        if self._process.returncode is None:
            await self.wait_until_exited()

    def terminate(self) -> None:
        supervision.signal_group(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Kill the group, unless its leader was reaped: the pid may belong to another process."""
        if self._process.returncode is None:
            supervision.signal_group(self.pid, signal.SIGKILL)

    def reap(self) -> int:
        code = self._process.wait()
        return code if code >= 0 else 128 - code


async def wait_until_readable(descriptor: int) -> None:
    """Wait until the descriptor has data or is at its end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


class MemoryFiles(ExitStack):
    """Unnamed files for content that a program must read and `ps` must not show, open until the `with` block ends."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptors: list[int] = []

    def add(self, content: str) -> int:
        """Return the descriptor of a new file with `content`, positioned at its start."""
        descriptor = os.memfd_create("sandbox")
        self.callback(os.close, descriptor)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(os.fsencode(content))
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def adopt(self, descriptor: int) -> int:
        """Return a duplicate of an open descriptor."""
        duplicate = os.dup(descriptor)
        self.callback(os.close, duplicate)
        self.descriptors.append(duplicate)
        return duplicate
