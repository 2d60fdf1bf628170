"""A command's only access to the network: a socket in its sandbox that leads to the filtering proxy."""

import asyncio
import atexit
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tools_app.network import NetworkPolicy
from tools_app.network.proxy.server import FilteringProxy

PORT = 3128  # where programs in the sandbox find the proxy, on its own loopback
SOCKET = "/run/agentsite-proxy"  # the socket as the sandbox sees it

# Runs in the sandbox, as the parent of the command: carries what comes to the port through the socket.
FORWARDER = f"""
import asyncio, sys
async def pump(source, target):
    try:
        while part := await source.read(65536):
            target.write(part)
            await target.drain()
    except OSError:
        pass
    finally:
        target.close()
async def carry(reader, writer):
    try:
        far, onward = await asyncio.open_unix_connection({SOCKET!r})
    except OSError:
        return writer.close()
    await asyncio.gather(pump(reader, onward), pump(far, writer))
async def main():
    await asyncio.start_server(carry, "127.0.0.1", {PORT})
    process = await asyncio.create_subprocess_exec(*sys.argv[1:])
    code = await process.wait()
    return code if code >= 0 else 128 - code
sys.exit(asyncio.run(main()))
"""

_proxies: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[tuple[FilteringProxy, Path]]]"
_proxies = weakref.WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class Outlet:
    """`socket` is the proxy's, on the server; the credential is valid as long as its passage is open."""

    socket: Path
    user: str
    password: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which programs find a proxy: in capitals and in small letters, as each expects it."""
        address = f"http://{self.user}:{self.password}@127.0.0.1:{PORT}"
        names = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": "localhost,127.0.0.1"}
        return names | {name.lower(): value for name, value in names.items()}


@asynccontextmanager
async def open_outlet(policy: NetworkPolicy) -> AsyncIterator[Outlet]:
    """Network access for one command; closed afterwards, also for processes that the command left behind."""
    proxy, socket = await asyncio.shield(_running())
    passage = proxy.open(policy)
    try:
        yield Outlet(socket=socket, user=passage.user, password=passage.password)
    finally:
        proxy.close(passage)


def _running() -> "asyncio.Task[tuple[FilteringProxy, Path]]":
    """One proxy for each event loop: concurrent commands wait for the same start."""
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
    (folder / "socket").chmod(0o666)  # the folder is private; only programs that are given the socket can reach it
    return proxy, folder / "socket"
