"""The Chromium process: its start, its limits and its end."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Error, async_playwright

from tools_app.browser.program import chromium_path
from tools_app.errors import ToolError
from tools_app.network import NetworkPolicy
from tools_app.network.proxy.grant import ProxyGrant
from tools_app.network.proxy.server import FilteringProxy
from tools_app.sandbox import ProcessIdentity, memory, supervision

WIDTH, HEIGHT = 1280, 900  # pixels of a new window
MEMORY = 3 * 1024**3  # bytes, for all its processes together
_LAUNCHER = Path(__file__).with_name("launcher.sh")
# Used when the server is root. No other process has it (see files/owner.py), so an escaped page owns no workspace.
_UID = 65_530
_STOP_S = 3  # seconds for an orderly end before it is killed
_FLAGS = (
    "--disable-dev-shm-usage",  # containers have little shared memory
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # only the proxy resolves names
    *("--force-webrtc-ip-handling-policy", "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--disable-quic"),
    *("--disable-domain-reliability", "--disable-sync", "--no-pings", "--disable-breakpad"),
    "--js-flags=--max-old-space-size=1024",  # MB, for each page
)
# Hosts that Chromium itself contacts with a page's credential. It would reveal the forms on the page, and more.
_BLOCKED_HOSTS = frozenset(
    {
        *("content-autofill.googleapis.com", "optimizationguide-pa.googleapis.com", "safebrowsing.googleapis.com"),
        *("update.googleapis.com", "clients2.google.com", "clientservices.googleapis.com", "edgedl.me.gvt1.com"),
        *("chromewebstore.googleapis.com", "passwordsleakcheck-pa.googleapis.com", "clients4.google.com"),
    }
)


class Chromium:
    """A Chromium process. `on_end` is called if it ends by itself or is killed for using too much memory."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self._on_end = on_end
        self._proxy = FilteringProxy()
        self._cleanup = AsyncExitStack()
        self._browser: Browser | None = None

    async def start(self, on_start: Callable[[ProcessIdentity], None]) -> "Chromium":
        """Start the process.

        Raises: ToolError if it does not start.
        """
        async with AsyncExitStack() as stack:
            folder = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True))
            )
            await self._proxy.start()
            stack.push_async_callback(self._proxy.stop)
            playwright = await async_playwright().start()
            stack.push_async_callback(playwright.stop)
            try:
                self._browser = await playwright.chromium.launch(
                    executable_path=_LAUNCHER,
                    env=_environment(folder),
                    args=_FLAGS,
                    chromium_sandbox=True,
                    proxy={"server": self._proxy.address},  # no credential: requests outside of a page are refused
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
            except Error as error:
                raise ToolError(f"The browser does not start here: {_reason(error)}") from error
            started = supervision.process_identity(int((folder / "pid").read_text()))
            on_start(started)
            stack.callback(_kill, started)
            watch = asyncio.create_task(self._watch(started.pid))
            stack.callback(watch.cancel)
            self._browser.on("disconnected", lambda _: self._on_end())
            self._cleanup = stack.pop_all()
        return self

    async def stop(self) -> None:
        self._on_end = lambda: None
        with suppress(TimeoutError, Error):
            async with asyncio.timeout(_STOP_S):
                assert self._browser is not None
                await self._browser.close()
        await self._cleanup.aclose()

    async def new_context(self, policy: NetworkPolicy) -> tuple[BrowserContext, ProxyGrant]:
        """Return an isolated browser context with its own cookies, storage and proxy credential."""
        assert self._browser is not None
        proxy_grant = self._proxy.grant_access(policy, blocked_hosts=_BLOCKED_HOSTS)
        context = await self._browser.new_context(
            proxy={"server": self._proxy.address, "username": proxy_grant.user, "password": proxy_grant.password},
            accept_downloads=False,
            service_workers="block",  # their requests would not be intercepted
            viewport={"width": WIDTH, "height": HEIGHT},
        )
        return context, proxy_grant

    def revoke_proxy_access(self, proxy_grant: ProxyGrant) -> None:
        self._proxy.revoke(proxy_grant)

    async def _watch(self, pid: int) -> None:
        await memory.wait_until_exceeded(pid, MEMORY)
        supervision.signal_group(pid, signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str | float | bool]:
    """Return an environment without the server's variables. Its home is deleted when the browser ends."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    environment: dict[str, str | float | bool] = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "BROWSER_PROGRAM": chromium_path(),
        "BROWSER_PID_FILE": str(folder / "pid"),
    }
    if os.geteuid() == 0:
        folder.chmod(0o711)
        os.chown(home, _UID, _UID)
        environment["BROWSER_UID"] = str(_UID)
    return environment


def _kill(started: ProcessIdentity) -> None:
    """Kill the process, unless it has ended in order."""
    with suppress(ProcessLookupError):
        if supervision.process_identity(started.pid) == started:
            supervision.signal_group(started.pid, signal.SIGKILL)


def _reason(error: Error) -> str:
    """Return the useful part of Playwright's error message."""
    lines = [line.strip() for line in error.message.splitlines() if "sandbox" in line.lower() or "rror" in line]
    return (lines or error.message.splitlines() or ["no reason given"])[0][:300]
