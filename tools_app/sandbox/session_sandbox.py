"""A session's sandbox while it is up: the program that starts commands in it, and the sockets that it hands out."""

import array
import asyncio
import json
import os
import signal
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from subprocess import DEVNULL
from typing import IO, TYPE_CHECKING, Any

from tools_app.errors import PortUnreachable, SandboxUnavailable
from tools_app.sandbox import memory
from tools_app.sandbox.program import MemoryFiles, ProcessGroup, Program, readable
from tools_app.sandbox.shell_command import PATH

if TYPE_CHECKING:
    from tools_app.network.proxy.server import FilteringProxy

_ANSWER_S = 15.0  # a spawner that does not answer by then is taken for dead
_MOST = 64  # bytes of a message
_ROOM = socket.CMSG_SPACE(struct.calcsize("3i")) + socket.CMSG_SPACE(4)


@dataclass(frozen=True, kw_only=True)
class Request:
    """`limits` are soft and hard at once, by the names of `resource`; `hidden` and `fixed` are a mask's, as absolute
    paths."""

    words: Sequence[str]
    environment: Mapping[str, str]
    limits: Mapping[str, int]
    hidden: Sequence[str] = ()
    fixed: Sequence[str] = ()

    def in_memory(self, files: MemoryFiles) -> int:
        return files.add(json.dumps(vars(self)))


class SessionSandbox:
    """All of it belongs to the event loop that started it, but for `open_port`, which any may call."""

    def __init__(self, program: ProcessGroup, control: socket.socket) -> None:
        self._program, self._control = program, control
        self._proxy: asyncio.Task[asyncio.Server] | None = None
        self.commands: set[int] = set()  # their first processes
        self.in_files = 0  # bytes of memory, when a command last ended

    @classmethod
    async def start(cls, words: Callable[[MemoryFiles, int], Sequence[str]]) -> "SessionSandbox":
        """`words` are those of the program that ends in the spawner, given the descriptor that is the spawner's.

        Raises SandboxUnavailable, OSError.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, MemoryFiles() as files:
            named = words(files, files.adopt(theirs.fileno()))
            environment = {"PATH": PATH, "LANG": "C.UTF-8"}
            program = Program(words=named, environment=environment, files=files.descriptors).start()
        sandbox = cls(program, ours)
        try:
            data, _ = await _message(ours)
        except BaseException:
            await sandbox.end()
            raise
        if not data:
            reason = os.read(program.output.fileno(), 1000).decode(errors="replace")
            await sandbox.end()
            raise SandboxUnavailable(next(iter(reason.splitlines()), "The sandbox ended while it started."))
        return sandbox

    @property
    def is_up(self) -> bool:
        return self._program.is_running

    async def spawn(self, request: Request, stdin: int = DEVNULL) -> "Spawned":
        """A command that runs. Raises SandboxUnavailable if the sandbox has ended."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        reading, writing = os.pipe()
        with ExitStack() as on_failure:
            on_failure.callback(ours.close)
            on_failure.callback(os.close, reading)
            with MemoryFiles() as files, theirs:
                source = files.add("") if stdin == DEVNULL else stdin
                files.callback(os.close, writing)
                self._send(b"R", [request.in_memory(files), source, writing, theirs.fileno()])
            data, ancillary = await _message(ours)
            pid = _sender(ancillary)
            if not data or not pid:
                raise SandboxUnavailable("The session's sandbox starts no command at the moment. Try again.")
            process = os.pidfd_open(pid)
            on_failure.pop_all()
        return Spawned(pid, process, ours, reading, self)

    async def open_port(self, port: int) -> socket.socket:
        """A connection to what listens on `port` of the sandbox's loopback. Raises PortUnreachable."""
        found = await self._handed_out(f"C{port}".encode())
        if found is None:
            raise PortUnreachable(f"Nothing listens on port {port} in the sandbox.")
        found.setblocking(False)
        return found

    async def attach(self, proxy: "FilteringProxy") -> None:
        """From now on `proxy` serves its port on the sandbox's loopback."""
        if self._proxy is None:
            self._proxy = asyncio.create_task(self._listen(proxy))
        await asyncio.shield(self._proxy)

    async def end(self) -> None:
        """Kills all that is in it, and comes back when it has gone."""
        if self._proxy is not None:
            self._proxy.cancel()
            if self._proxy.done() and not self._proxy.cancelled() and not self._proxy.exception():
                self._proxy.result().close()
        self.kill()
        await self._program.gone()
        self._program.exit_code()
        self._program.output.close()
        self._control.close()

    def kill(self) -> None:
        self._program.kill()

    async def _listen(self, proxy: "FilteringProxy") -> asyncio.Server:
        listener = await self._handed_out(b"L")
        if listener is None:
            raise SandboxUnavailable()
        return await proxy.listen(listener)

    async def _handed_out(self, request: bytes) -> socket.socket | None:
        """A TCP socket of the sandbox's network, or None."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs, suppress(SandboxUnavailable):
                self._send(request, [theirs.fileno()])
            _, ancillary = await _message(ours)
        found = [socket.socket(fileno=number) for number in _descriptors(ancillary)]
        if len(found) == 1 and found[0].family in (socket.AF_INET, socket.AF_INET6):
            return found[0]
        for other in found:
            other.close()
        return None

    def _send(self, letter: bytes, descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [letter], descriptors)
        except OSError as error:
            raise SandboxUnavailable("The session's sandbox has ended. Try again: a new one starts.") from error


class Spawned:
    """A command in a session's sandbox: `supervision.Running`. Its `pid` is that of the first process in its own pid
    namespace, which waits until it is killed here; all others end with it."""

    def __init__(self, pid: int, process: int, status: socket.socket, output: int, sandbox: SessionSandbox) -> None:
        self.pid, self._process, self._status, self._sandbox = pid, process, status, sandbox
        self.output: IO[bytes] = open(output, "rb", buffering=0)
        self._said = b""
        sandbox.commands.add(pid)

    @property
    def siblings(self) -> set[int]:
        return set(self._sandbox.commands)

    @property
    def in_files(self) -> int:
        return memory.in_temporary_files(self.pid)

    async def exited(self) -> None:
        await readable(self._status.fileno())
        # Read now: what we send and it no longer reads would come before it, as an error.
        with suppress(OSError):
            self._said = self._status.recv(_MOST, socket.MSG_DONTWAIT)

    def left(self) -> list[int]:
        return [pid for pid in memory.descendants(self.pid) if pid != self.pid]

    async def gone(self) -> None:
        await readable(self._process)

    def request_end(self) -> None:
        with suppress(OSError):
            self._status.send(b"T")

    def kill(self) -> None:
        self._sandbox.in_files = self.in_files
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)

    def exit_code(self) -> int:
        self._sandbox.commands.discard(self.pid)
        os.close(self._process)
        self._status.close()
        return int(self._said) if self._said.isdigit() and len(self._said) <= 3 else 128 + signal.SIGKILL


async def _message(channel: socket.socket) -> tuple[bytes, list[Any]]:
    """What came, and beside it; empty at the end of the channel, or if nothing comes in time."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            await readable(channel.fileno())
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        data, ancillary, _, _ = channel.recvmsg(_MOST, _ROOM, flags)
    except OSError:
        return b"", []
    return data, ancillary


def _sender(ancillary: Sequence[Any]) -> int:
    """The pid that the kernel vouches for, as it is in our pid namespace; 0 if there is none."""
    of_kind = [content for _, kind, content in ancillary if kind == socket.SCM_CREDENTIALS]
    return int(struct.unpack("3i", of_kind[0])[0]) if of_kind else 0


def _descriptors(ancillary: Sequence[Any]) -> list[int]:
    found = array.array("i")
    for _, kind, content in ancillary:
        if kind == socket.SCM_RIGHTS:
            found.frombytes(content[: len(content) - len(content) % found.itemsize])
    return found.tolist()
