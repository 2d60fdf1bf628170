"""The proxy server: a listener on loopback, and one in each sandbox, for clients with a credential."""

import asyncio
import logging
from hmac import compare_digest
from socket import socket

import aiohttp
import h11
from aiohttp.abc import AbstractResolver

from tools_app.errors import AddressRefused, ToolError
from tools_app.network.connections import connect
from tools_app.network.policy import NetworkPolicy
from tools_app.network.proxy.grant import ProxyGrant
from tools_app.network.proxy.relay import HEAD_END, MAX_HEAD, first_to_end, pump, send_body, send_response
from tools_app.network.proxy.request import MalformedMessage, ProxyRequest, read_request

logger = logging.getLogger(__name__)
_HEAD_S = 30.0  # seconds for a client to send its request
MAX_CONNECTIONS = 128  # per sandbox; each takes two file descriptors of the server
_AUTHENTICATION_REQUIRED = (
    b'HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm="agentsite"\r\n'
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


class FilteringProxy:
    """A proxy that resolves names with `resolver` and connects to exactly the addresses that it has checked."""

    def __init__(self, resolver: AbstractResolver | None = None) -> None:
        self._resolver = resolver or aiohttp.ThreadedResolver()
        self._grants: dict[str, ProxyGrant] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)

    async def listen(self, bound: socket) -> asyncio.Server:
        """Accept connections on a socket of another network, until the returned server is closed."""
        open_here: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(open_here) < MAX_CONNECTIONS:
                connection = self._accept(reader, writer)
                open_here.add(connection)
                connection.add_done_callback(open_here.discard)
            else:
                writer.close()

        return await asyncio.start_server(accept, sock=bound, limit=MAX_HEAD)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def grant_access(self, policy: NetworkPolicy, *, blocked_hosts: frozenset[str] = frozenset()) -> ProxyGrant:
        grant = ProxyGrant(policy, blocked_hosts)
        self._grants[grant.user] = grant
        return grant

    def revoke(self, grant: ProxyGrant) -> None:
        """Revoke the credential and end its connections."""
        self._grants.pop(grant.user, None)
        grant.disconnect()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> asyncio.Task[None]:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        return connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        try:
            async with asyncio.timeout(_HEAD_S):
                request = read_request(await reader.readuntil(HEAD_END), client)
            if grant := self._grant_for(request):
                task = asyncio.current_task()
                assert task is not None
                grant.track(task)
                await self._forward(request, grant, client, reader, writer)
            else:
                writer.write(_AUTHENTICATION_REQUIRED)
        except (ToolError, MalformedMessage, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            logger.debug("connection through the proxy failed: %s", error)
        finally:
            writer.close()

    def _grant_for(self, request: ProxyRequest) -> ProxyGrant | None:
        user, password = request.credential
        grant = self._grants.get(user)
        return grant if grant and compare_digest(grant.password, password) else None

    async def _forward(
        self,
        request: ProxyRequest,
        grant: ProxyGrant,
        client: h11.Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        if request.url.host in grant.blocked_hosts:
            writer.write(_refusal(AddressRefused(f"{request.url.host} is not reached from here.")))
            return
        try:
            size = 0 if request.is_tunnel else request.body_size
            source, target = await connect(request.url, grant.policy, self._resolver)
        except ToolError as error:
            grant.last_error = error
            writer.write(_refusal(error))
            return
        try:
            if request.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await first_to_end(pump(reader, target), pump(source, writer, grant))
            else:
                server = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
                target.write(server.send(request.forwarded()) or b"")
                answering = send_response(server, source, client, writer, grant)
                await first_to_end(send_body(size, reader, target), answering)
            await writer.drain()
        finally:
            target.close()


def _refusal(error: ToolError) -> bytes:
    """Return the response for a refused request. Proxy-Status marks it as coming from the proxy (RFC 9209)."""
    status, kind = (
        ("403 Forbidden", "destination_ip_prohibited")
        if isinstance(error, AddressRefused)
        else ("502 Bad Gateway", "destination_unavailable")
    )
    body = str(error).encode(errors="replace")
    head = (
        f"HTTP/1.1 {status}\r\nProxy-Status: agentsite; error={kind}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
