"""The filtering proxy that commands go through: one for each event loop, on a socket of its own."""

import asyncio
import atexit
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tools_app.network.policy import NetworkPolicy
from tools_app.network.proxy.server import FilteringProxy
from tools_app.sandbox.outlet import Outlet

_proxies: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[tuple[FilteringProxy, Path]]]"
_proxies = weakref.WeakKeyDictionary()


@asynccontextmanager
async def opened(policy: NetworkPolicy) -> AsyncIterator[Outlet]:
    """A way out for one command; afterwards it is closed, also for what the command may have left behind."""
    proxy, socket = await asyncio.shield(_running())
    passage = proxy.open(policy)
    try:
        yield Outlet(socket=socket, user=passage.user, password=passage.password)
    finally:
        proxy.close(passage)


def _running() -> "asyncio.Task[tuple[FilteringProxy, Path]]":
    """Commands that come at once wait for the same start."""
    loop = asyncio.get_running_loop()
    task = _proxies.get(loop)
    if task is None or (task.done() and task.exception()):
        task = _proxies[loop] = loop.create_task(_start())
    return task


async def _start() -> tuple[FilteringProxy, Path]:
    folder = Path(tempfile.mkdtemp(prefix="agentsite-proxy-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    proxy = FilteringProxy()
    await proxy.start(folder / "socket")
    (folder / "socket").chmod(0o666)  # the folder is closed; only who is given the socket gets to it
    return proxy, folder / "socket"
