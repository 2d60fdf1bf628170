"""The open pages by session. The browser starts with the first page and ends with the last."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from uuid import uuid4

from tools_app import held_resources
from tools_app.browser.chromium import Chromium
from tools_app.browser.page import OpenPage
from tools_app.errors import ToolError
from tools_app.network import NetworkPolicy
from tools_app.sandbox import ProcessIdentity

IDLE_S = 300.0
MAX_PAGES = 20  # pages of one process; each takes about 80 MB
_DESCRIPTION = "the page that was open in the browser"


class BrowserPages:
    """The open pages of this process. All methods run on one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, OpenPage] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._chromium: asyncio.Task[Chromium] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._change_lock = asyncio.Lock()  # prevents opening a page in a browser that is about to end

    def page_of(self, session: str) -> OpenPage:
        """Return the session's open page.

        Raises: ToolError if there is none.
        """
        if session not in self._open:
            raise ToolError("No page is open: it was closed, or none was visited. Use visit first.")
        return self._open[session]

    def has_page(self, session: str) -> bool:
        return session in self._open

    async def open(self, session: str, policy: NetworkPolicy, started: Callable[[ProcessIdentity], None]) -> OpenPage:
        """Return the session's page, empty if it is new.

        Raises: ToolError
        """
        if session in self._open:
            return self._open[session]
        page = await self._open_page(session, policy, started)
        held_resources.hold(session, held_resources.PAGE, _DESCRIPTION)
        return page

    async def read_once(
        self, url: str, policy: NetworkPolicy, started: Callable[[ProcessIdentity], None]
    ) -> tuple[str, str]:
        """Open a page only to read it. Return its address and HTML.

        Raises: ToolError
        """
        name = f"read once: {uuid4().hex}"
        page = await self._open_page(name, policy, started)
        try:
            await page.visit(url)
            url, html = page.url, await page.html()
        except BaseException:
            self._run_in_background(self.close(name))
            raise
        await self.close(name)
        return url, html

    async def _open_page(
        self, session: str, policy: NetworkPolicy, started: Callable[[ProcessIdentity], None]
    ) -> OpenPage:
        if len(self._open) >= MAX_PAGES:
            raise ToolError("Too many pages are open on this server. Try again in some minutes, or use fetch_url.")
        try:
            async with self._change_lock:
                page = self._open[session] = await OpenPage.open(await self._browser(started), policy)
            return page
        except BaseException:
            self._run_in_background(self._stop_if_unused())
            raise

    async def close(self, session: str) -> None:
        held_resources.release(session, held_resources.PAGE)
        self.cancel_timer(session)
        if page := self._open.pop(session, None):
            await page.close()
        await self._stop_if_unused()

    def cancel_timer(self, session: str) -> None:
        if timer := self._timers.pop(session, None):
            timer.cancel()

    def restart_timer(self, session: str) -> None:
        """Restart the timer that closes the session's page."""
        self.cancel_timer(session)
        if session in self._open:
            loop = asyncio.get_running_loop()
            self._timers[session] = loop.call_later(IDLE_S, lambda: self._run_in_background(self.close(session)))

    def abandon(self, session: str, *, close: bool) -> None:
        """Stop loading the page, or close it, without waiting."""
        if page := self._open.get(session):
            self._run_in_background(self.close(session) if close else page.stop_loading())

    async def _browser(self, started: Callable[[ProcessIdentity], None]) -> Chromium:
        """Return the browser. Cancelling the caller does not cancel its start."""
        if self._chromium is None:
            self._chromium = asyncio.create_task(Chromium(self._on_browser_end).start(started))
        try:
            return await asyncio.shield(self._chromium)
        except ToolError:
            self._chromium = None
            raise

    async def _stop_if_unused(self) -> None:
        async with self._change_lock:
            browser = self._chromium
            if browser is not None and not self._open:
                self._chromium = None
                with suppress(ToolError):  # it did not start
                    await (await browser).stop()

    def _on_browser_end(self) -> None:
        """Drop all pages after the browser has ended by itself."""
        sessions, self._open = list(self._open), {}
        browser, self._chromium = self._chromium, None
        for session in sessions:
            held_resources.release(session, held_resources.PAGE)
            self.cancel_timer(session)
        if browser is not None:
            self._run_in_background(browser.result().stop())

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


pages = BrowserPages()
