"""The one way from a command to the network: a socket in its sandbox, behind which the filtering proxy decides."""

from dataclasses import dataclass, field
from pathlib import Path

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


@dataclass(frozen=True, kw_only=True)
class Outlet:
    """`socket` is the proxy's, on the server; the credential is worth as much as the passage behind it."""

    socket: Path
    user: str
    password: str = field(repr=False)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which programs find a proxy: in capitals and in small letters, as each expects it."""
        address = f"http://{self.user}:{self.password}@127.0.0.1:{PORT}"
        names = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": "localhost,127.0.0.1"}
        return names | {name.lower(): value for name, value in names.items()}
