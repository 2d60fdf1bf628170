"""The way into a session's sandbox: connections to what its commands serve on their loopback."""

import asyncio
import socket
from dataclasses import dataclass

from tools_app.errors import PortUnreachable
from tools_app.network.connections import Streams
from tools_app.sandbox import local
from tools_app.sandbox.session_sandboxes import sandboxes

_LOCAL_S = 5.0


async def connect(session: str, port: int) -> Streams:
    """Streams to what listens on `port`, on whatever event loop this is called.

    It asks nobody's rights, starts no sandbox, and reads nothing: what answers is as hostile as any program of the
    sandbox. Raises PortUnreachable.
    """
    return await asyncio.open_connection(sock=await open_socket(session, port))


async def open_socket(session: str, port: int) -> socket.socket:
    """The same as a socket, which does not block."""
    if not 0 < port < 65536:
        raise PortUnreachable(f"{port} is no port.")
    if sandbox := sandboxes.found(session):
        return await sandbox.open_port(port)
    if await asyncio.to_thread(local.listens, session, port):
        return await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port), _LOCAL_S)
    raise PortUnreachable("Nothing runs in this session's sandbox. Start a server with the shell, in the background.")


@dataclass(frozen=True, kw_only=True)
class SandboxPorts:
    """`network.policy.Ports` of one session."""

    session: str

    async def open(self, port: int) -> socket.socket:
        return await open_socket(self.session, port)
