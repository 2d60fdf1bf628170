"""Connections made by tools, limited to addresses that the policy permits."""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from tools_app.errors import AddressRefused, FetchFailed
from tools_app.network.addresses import literal_address
from tools_app.network.policy import NetworkPolicy, check_host

_USER_AGENT = "Mozilla/5.0 (compatible; agentsite/1.0)"

TIMEOUT_S = 10.0  # seconds for each address
MAX_ADDRESSES = 4  # addresses of a name that are tried

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class GuardedResolver(AbstractResolver):
    """A resolver that returns only permitted addresses.

    aiohttp connects to exactly these addresses, so a second answer of the name server (DNS rebinding) has no effect.
    """

    def __init__(self, policy: NetworkPolicy, resolver: AbstractResolver) -> None:
        self._policy = policy
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the permitted addresses of the host.

        Raises: AddressRefused if all its addresses are forbidden.
        """
        results = await self._resolver.resolve(host, port, family)
        permitted = [result for result in results if self._policy.permits(host, port, ip_address(result["host"]))]
        if results and not permitted:
            raise AddressRefused(f"{host} leads to an internal address, which cannot be reached from here.")
        return permitted

    async def close(self) -> None:
        await self._resolver.close()


class _Connector(aiohttp.TCPConnector):
    """A connector for permitted addresses, and for the session's sandbox over plain HTTP."""

    def __init__(self, policy: NetworkPolicy, resolver: AbstractResolver) -> None:
        super().__init__(resolver=GuardedResolver(policy, resolver))
        self._policy = policy

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109  aiohttp's
        if not self._policy.sandbox or not self._policy.leads_to_sandbox(req.url):
            return await super()._create_connection(req, traces, timeout)
        if req.is_ssl():
            raise FetchFailed("Servers in the sandbox are reached with http://, not with https://.")
        connection = await self._policy.sandbox.open(req.url.port or 80)
        return (await self._loop.create_connection(self._factory, sock=connection))[1]


def http_session(policy: NetworkPolicy, resolver: AbstractResolver | None = None) -> aiohttp.ClientSession:
    """Return a guarded session for one task, without cookies or a proxy from the environment.

    Each request and each redirect may raise AddressRefused.
    """

    async def guard(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        check_host(request.url, policy)  # aiohttp does not call the resolver if the host is an address
        return await handler(request)

    return aiohttp.ClientSession(
        connector=_Connector(policy, resolver or aiohttp.ThreadedResolver()),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": _USER_AGENT},
        middlewares=(guard,),
        trust_env=False,
    )


async def connect(url: URL, policy: NetworkPolicy, resolver: AbstractResolver) -> Streams:
    """Connect to the host and port of `url`.

    Raises: AddressRefused, FetchFailed if no address answers.
    """
    check_host(url, policy)
    if policy.sandbox and policy.leads_to_sandbox(url):
        return await asyncio.open_connection(sock=await policy.sandbox.open(url.port or 0))
    host, port = url.raw_host or "", url.port or 0
    reason: Exception | None = None
    for address in await _addresses(host, port, GuardedResolver(policy, resolver)):
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await asyncio.open_connection(address, port)
        except OSError as error:  # includes TimeoutError
            reason = error
    raise FetchFailed(f"{host}:{port} cannot be reached: {reason or 'it has no address'}")


async def _addresses(host: str, port: int, resolver: GuardedResolver) -> Sequence[str]:
    """Return the permitted addresses of `host`. Connecting to exactly these rules out a second DNS answer."""
    if address := literal_address(host):
        return [str(address)]
    try:
        results = await resolver.resolve(host, port, socket.AF_UNSPEC)
    except OSError as error:
        raise FetchFailed(f"There is no host called {host}.") from error
    return [result["host"] for result in results[:MAX_ADDRESSES]]
