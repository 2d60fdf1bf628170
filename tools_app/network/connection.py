"""A TCP connection for somebody else, to an address that the policy permits, and to no other."""

import asyncio
import socket
from collections.abc import Sequence

from aiohttp.abc import AbstractResolver
from yarl import URL

from tools_app.errors import FetchFailed
from tools_app.network.addresses import literal
from tools_app.network.connections import GuardedResolver
from tools_app.network.policy import NetworkPolicy, check_host

TIMEOUT_S = 10.0  # for each address
MOST_ADDRESSES = 4  # of a name that are tried

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def connect(url: URL, policy: NetworkPolicy, resolver: AbstractResolver) -> Streams:
    """Connects to the host and port of `url`. Raises AddressRefused, and FetchFailed if nobody answers there."""
    check_host(url, policy)
    host, port = url.raw_host or "", url.port or 0
    reason: Exception | None = None
    for address in await _addresses(host, port, GuardedResolver(policy, resolver)):
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await asyncio.open_connection(address, port)
        except OSError as error:  # a TimeoutError is one too
            reason = error
    raise FetchFailed(f"{host}:{port} cannot be reached: {reason or 'it has no address'}")


async def _addresses(host: str, port: int, resolver: GuardedResolver) -> Sequence[str]:
    """What `host` leads to, judged: connecting to these very addresses leaves no time for another answer."""
    if address := literal(host):
        return [str(address)]
    try:
        found = await resolver.resolve(host, port, socket.AF_UNSPEC)
    except OSError as error:
        raise FetchFailed(f"There is no host called {host}.") from error
    return [result["host"] for result in found[:MOST_ADDRESSES]]
