"""A running sandbox of a session: the program that starts its commands, and the sockets that it hands out."""

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
from tools_app.sandbox.program import MemoryFiles, ProcessGroup, ProcessSpec, wait_until_readable
from tools_app.sandbox.shell_command import PATH

if TYPE_CHECKING:
    from tools_app.network.proxy.server import FilteringProxy

_ANSWER_S = 15.0  # a spawner that does not answer within this time counts as dead
_MAX_MESSAGE = 64  # maximum bytes of a message
_ANCILLARY_BYTES = socket.CMSG_SPACE(struct.calcsize("3i")) + socket.CMSG_SPACE(4)


@dataclass(frozen=True, kw_only=True)
class SpawnRequest:
    """A command for the spawner.

    `limits` are both soft and hard limits, by the names of the module `resource`. `hidden` and `fixed` are the absolute
    paths of a mask.
    """

    argv: Sequence[str]
    environment: Mapping[str, str]
    limits: Mapping[str, int]
    hidden: Sequence[str] = ()
    fixed: Sequence[str] = ()

    def to_memory_file(self, files: MemoryFiles) -> int:
        return files.add(json.dumps(vars(self)))


class SessionSandbox:
    """A session's sandbox. It belongs to the event loop that started it; only `open_port` works on any loop."""

    def __init__(self, program: ProcessGroup, control: socket.socket) -> None:
        self._program, self._control = program, control
        self._proxy_listener: asyncio.Task[asyncio.Server] | None = None
        self.commands: set[int] = set()  # pids of the first process of each
        self.bytes_in_files = 0  # bytes in memory file systems when a command last ended

    @classmethod
    async def start(cls, build_argv: Callable[[MemoryFiles, int], Sequence[str]]) -> "SessionSandbox":
        """Start the sandbox with the command line that `build_argv` returns from the spawner's descriptor.

        Raises: SandboxUnavailable, OSError
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, MemoryFiles() as files:
            argv = build_argv(files, files.adopt(theirs.fileno()))
            environment = {"PATH": PATH, "LANG": "C.UTF-8"}
            program = ProcessSpec(argv=argv, environment=environment, files=files.descriptors).start()
        sandbox = cls(program, ours)
        try:
            data, _ = await _receive(ours)
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

    async def spawn(self, request: SpawnRequest, stdin: int = DEVNULL) -> "SpawnedCommand":
        """Start a command.

        Raises: SandboxUnavailable if the sandbox has ended.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        reading, writing = os.pipe()
        with ExitStack() as on_failure:
            on_failure.callback(ours.close)
            on_failure.callback(os.close, reading)
            with MemoryFiles() as files, theirs:
                source = files.add("") if stdin == DEVNULL else stdin
                files.callback(os.close, writing)
                self._send(b"R", [request.to_memory_file(files), source, writing, theirs.fileno()])
            data, ancillary = await _receive(ours)
            pid = _sender_pid(ancillary)
            if not data or not pid:
                raise SandboxUnavailable("The session's sandbox starts no command at the moment. Try again.")
            process = os.pidfd_open(pid)
            on_failure.pop_all()
        return SpawnedCommand(pid, process, ours, reading, self)

    async def open_port(self, port: int) -> socket.socket:
        """Return a connection to `port` on the sandbox's loopback.

        Raises: PortUnreachable
        """
        connection = await self._request_socket(f"C{port}".encode())
        if connection is None:
            raise PortUnreachable(f"Nothing listens on port {port} in the sandbox.")
        connection.setblocking(False)
        return connection

    async def attach(self, proxy: "FilteringProxy") -> None:
        """Let `proxy` serve its port on the sandbox's loopback."""
        if self._proxy_listener is None:
            self._proxy_listener = asyncio.create_task(self._listen(proxy))
        await asyncio.shield(self._proxy_listener)

    async def end(self) -> None:
        """Kill everything in the sandbox and wait until it is gone."""
        if self._proxy_listener is not None:
            self._proxy_listener.cancel()
            listener = self._proxy_listener
            if listener.done() and not listener.cancelled() and not listener.exception():
                listener.result().close()
        self.kill()
        await self._program.wait_until_gone()
        self._program.reap()
        self._program.output.close()
        self._control.close()

    def kill(self) -> None:
        self._program.kill()

    async def _listen(self, proxy: "FilteringProxy") -> asyncio.Server:
        listener = await self._request_socket(b"L")
        if listener is None:
            raise SandboxUnavailable()
        return await proxy.listen(listener)

    async def _request_socket(self, request: bytes) -> socket.socket | None:
        """Request a TCP socket of the sandbox's network. Return None if there is none."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs, suppress(SandboxUnavailable):
                self._send(request, [theirs.fileno()])
            _, ancillary = await _receive(ours)
        sockets = [socket.socket(fileno=number) for number in _received_descriptors(ancillary)]
        if len(sockets) == 1 and sockets[0].family in (socket.AF_INET, socket.AF_INET6):
            return sockets[0]
        for unexpected in sockets:
            unexpected.close()
        return None

    def _send(self, letter: bytes, descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [letter], descriptors)
        except OSError as error:
            raise SandboxUnavailable("The session's sandbox has ended. Try again: a new one starts.") from error


class SpawnedCommand:
    """A command in a session's sandbox, as `supervision.RunningCommand`.

    `pid` belongs to the first process of the command's pid namespace. This process waits until it is killed, and all
    others end with it.
    """

    def __init__(self, pid: int, process: int, status: socket.socket, output: int, sandbox: SessionSandbox) -> None:
        self.pid, self._process, self._status, self._sandbox = pid, process, status, sandbox
        self.output: IO[bytes] = open(output, "rb", buffering=0)
        self._exit_message = b""
        sandbox.commands.add(pid)

    @property
    def siblings(self) -> set[int]:
        return set(self._sandbox.commands)

    @property
    def bytes_in_files(self) -> int:
        return memory.in_temporary_files(self.pid)

    async def wait_until_exited(self) -> None:
        await wait_until_readable(self._status.fileno())
        # Read now: a later send to the closed peer would fail, and the error would hide this message.
        with suppress(OSError):
            self._exit_message = self._status.recv(_MAX_MESSAGE, socket.MSG_DONTWAIT)

    def remaining_pids(self) -> list[int]:
        return [pid for pid in memory.descendants(self.pid) if pid != self.pid]

    async def wait_until_gone(self) -> None:
        await wait_until_readable(self._process)

    def terminate(self) -> None:
        with suppress(OSError):
            self._status.send(b"T")

    def kill(self) -> None:
        self._sandbox.bytes_in_files = self.bytes_in_files
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)

    def reap(self) -> int:
        self._sandbox.commands.discard(self.pid)
        os.close(self._process)
        self._status.close()
        has_code = self._exit_message.isdigit() and len(self._exit_message) <= 3
        return int(self._exit_message) if has_code else 128 + signal.SIGKILL


async def _receive(channel: socket.socket) -> tuple[bytes, list[Any]]:
    """Return data and ancillary data of the next message; both empty at the end of the channel or on a timeout."""
    try:
        async with asyncio.timeout(_ANSWER_S):
            await wait_until_readable(channel.fileno())
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        data, ancillary, _, _ = channel.recvmsg(_MAX_MESSAGE, _ANCILLARY_BYTES, flags)
    except OSError:
        return b"", []
    return data, ancillary


def _sender_pid(ancillary: Sequence[Any]) -> int:
    """Return the sender's pid, verified by the kernel and valid in our pid namespace, or 0."""
    credentials = [content for _, kind, content in ancillary if kind == socket.SCM_CREDENTIALS]
    return int(struct.unpack("3i", credentials[0])[0]) if credentials else 0


def _received_descriptors(ancillary: Sequence[Any]) -> list[int]:
    descriptors = array.array("i")
    for _, kind, content in ancillary:
        if kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    return descriptors.tolist()
