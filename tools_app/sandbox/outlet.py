"""A command's only access to the network: a port in its sandbox that leads to the filtering proxy."""

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

PORT = 3128  # where programs in the sandbox find the proxy, on its own loopback

_LOCAL = f"localhost,127.0.0.1,{SANDBOX}"

_proxies: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, FilteringProxy]"
_proxies = weakref.WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Outlet:
    """The credential is valid as long as its passage is open."""

    proxy: "FilteringProxy"
    user: str
    password: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which programs find a proxy: in capitals and in small letters, as each expects it."""
        address = f"http://{self.user}:{self.password}@127.0.0.1:{PORT}"
        names = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": _LOCAL}
        return names | {name.lower(): value for name, value in names.items()}


@asynccontextmanager
async def open_outlet(policy: NetworkPolicy) -> AsyncIterator[Outlet]:
    """Network access for one command; closed afterwards, also for processes that the command left behind."""
    proxy = _proxy()
    passage = proxy.open(policy)
    try:
        yield Outlet(proxy=proxy, user=passage.user, password=passage.password)
    finally:
        proxy.close(passage)


def _proxy() -> "FilteringProxy":
    """One for each event loop; sandboxes attach it to their port."""
    from tools_app.network.proxy.server import FilteringProxy  # with aiohttp, not before the first command

    return _proxies.setdefault(asyncio.get_running_loop(), FilteringProxy())
