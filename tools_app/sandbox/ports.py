"""Connections into a session's sandbox: to servers that its commands run on loopback."""

import asyncio
import logging
import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools_app.errors import PortUnreachable, ToolError
from tools_app.network.proxy.relay import first_to_end, pump
from tools_app.sandbox import local
from tools_app.sandbox.proxy_access import PROXY_PORT
from tools_app.sandbox.session_sandboxes import sandboxes

if TYPE_CHECKING:
    from tools_app.network.connections import Streams

_ANSWER_S = 5.0
_OK, _FAILED = b"yes\n", b"no.\n"

logger = logging.getLogger(__name__)
_folder: Path | None = None
_servers: set[asyncio.Server] = set()


async def connect(session: str, port: int) -> "Streams":
    """Open streams to the server on `port`, on the current event loop.

    This checks no permissions and starts no sandbox. The peer is as untrusted as any program in the sandbox.

    Raises: PortUnreachable
    """
    return await asyncio.open_connection(sock=await open_socket(session, port))


async def open_socket(session: str, port: int) -> socket.socket:
    """Open the same connection as a non-blocking socket."""
    if not 0 < port < 65536:
        raise PortUnreachable(f"{port} is no port.")
    if (connection := await _open_here(session, port)) or (connection := await _open_at_peer(session, port)):
        return connection
    raise PortUnreachable("Nothing runs in this session's sandbox. Start a server with the shell, in the background.")


async def listening_ports(session: str) -> list[int]:
    """Return the ports that programs of the session listen on, if this process runs its commands."""
    return sorted(await asyncio.to_thread(_listening_ports, session))


def _listening_ports(session: str) -> set[int]:
    if (sandbox := sandboxes.get(session)) is None:
        return local.listening_ports(session)
    tables = [Path(f"/proc/{pid}/net") for pid in list(sandbox.commands)[:1]]  # all commands share one network
    return {port for table in tables for port, _ in local.listening_sockets(table)} - {PROXY_PORT}


@dataclass(frozen=True, kw_only=True)
class SandboxPorts:
    """The ports of one session, as `network.policy.Ports`."""

    session: str

    async def open(self, port: int) -> socket.socket:
        return await open_socket(self.session, port)


async def _open_here(session: str, port: int) -> socket.socket | None:
    """Return a connection, or None if this process has no sandbox of the session."""
    if sandbox := sandboxes.get(session):
        return await sandbox.open_port(port)
    if await asyncio.to_thread(local.is_listening, session, port):
        connection = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port), _ANSWER_S)
        connection.setblocking(False)
        return connection
    return None


def share_in(folder: Path) -> None:
    """Reach the sandboxes of other processes of this host too, through sockets in `folder`."""
    global _folder
    _folder = folder


async def listen() -> None:
    """Accept requests of other processes. Only processes of the server's user can enter the folder."""
    if _folder is None:
        return
    try:
        path = await asyncio.to_thread(_own_socket_path, _folder)
        _servers.add(await asyncio.start_unix_server(_serve_peer, path))
    except OSError as error:  # usually because the path is too long for a socket
        logger.warning("could not share the sandbox ports with other processes: %s", error)


def _own_socket_path(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (path := folder / str(os.getpid())).unlink(missing_ok=True)
    return path


def _peer_socket_paths(folder: Path | None) -> list[Path]:
    paths = sorted(folder.iterdir()) if folder and folder.is_dir() else []
    return [path for path in paths if path.name != str(os.getpid())]


async def _serve_peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one request of another process.

    The request is a line with session and port. After the answer `yes`, data is relayed in both directions.
    """
    try:
        session, _, port = (await reader.readline()).decode().strip().rpartition(" ")
        connection = await _open_here(session, int(port))
        if connection is None:
            writer.write(_FAILED)
            return
        source, target = await asyncio.open_connection(sock=connection)
        writer.write(_OK)
        try:
            await first_to_end(pump(reader, target), pump(source, writer))
        finally:
            target.close()
    except (ToolError, OSError, ValueError):
        writer.write(_FAILED)
    finally:
        writer.close()


async def _open_at_peer(session: str, port: int) -> socket.socket | None:
    for path in _peer_socket_paths(_folder):
        if connection := await _ask_peer(path, f"{session} {port}\n"):
            return connection
    return None


async def _ask_peer(path: Path, line: str) -> socket.socket | None:
    loop, channel = asyncio.get_running_loop(), socket.socket(socket.AF_UNIX)
    channel.setblocking(False)
    with suppress(OSError):  # the process is gone, or too slow (TimeoutError)
        async with asyncio.timeout(_ANSWER_S):
            await loop.sock_connect(channel, str(path))
            await loop.sock_sendall(channel, line.encode())
            if await loop.sock_recv(channel, len(_OK)) == _OK:
                return channel
    channel.close()
    return None
