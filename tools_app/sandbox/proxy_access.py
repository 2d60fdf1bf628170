"""The network access of a command: a port in its sandbox that leads to the filtering proxy."""

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools_app.network import NetworkPolicy
from tools_app.network.policy import SANDBOX

if TYPE_CHECKING:
    from tools_app.network.proxy.server import FilteringProxy

PROXY_PORT = 3128  # port of the proxy on the sandbox's loopback

_LOCAL = f"localhost,127.0.0.1,{SANDBOX}"

_proxies: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, FilteringProxy]"
_proxies = weakref.WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class ProxyAccess:
    """A command's credential for the proxy, valid until its grant is revoked."""

    proxy: "FilteringProxy"
    user: str
    password: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The proxy variables, in capitals and in lower case, because programs differ in what they read."""
        address = f"http://{self.user}:{self.password}@127.0.0.1:{PROXY_PORT}"
        names = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": _LOCAL}
        return names | {name.lower(): value for name, value in names.items()}


@asynccontextmanager
async def open_proxy_access(policy: NetworkPolicy) -> AsyncIterator[ProxyAccess]:
    """Open network access for one command. Closing it also cuts off processes that the command left behind."""
    proxy = _proxy()
    grant = proxy.grant_access(policy)
    try:
        yield ProxyAccess(proxy=proxy, user=grant.user, password=grant.password)
    finally:
        proxy.revoke(grant)


def _proxy() -> "FilteringProxy":
    """Return the proxy of the running event loop. Sandboxes attach it to their port."""
    from tools_app.network.proxy.server import FilteringProxy  # imports aiohttp, so not before the first command

    return _proxies.setdefault(asyncio.get_running_loop(), FilteringProxy())
