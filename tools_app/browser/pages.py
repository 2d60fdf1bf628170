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
MOST = 20  # pages of one process; each takes about 80 MB
_WORDS = "the page that was open in the browser"


class Pages:
    """The open pages of this process. All methods run on one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, OpenPage] = {}
        self._idle: dict[str, asyncio.TimerHandle] = {}
        self._chromium: asyncio.Task[Chromium] | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()  # prevents opening a page in a browser that is about to end

    def page_of(self, session: str) -> OpenPage:
        """Return the session's open page.

        Raises: ToolError if there is none.
        """
        if session not in self._open:
            raise ToolError("No page is open: it was closed, or none was visited. Use visit first.")
        return self._open[session]

    def has(self, session: str) -> bool:
        return session in self._open

    async def open(self, session: str, policy: NetworkPolicy, started: Callable[[ProcessIdentity], None]) -> OpenPage:
        """Return the session's page, empty if it is new.

        Raises: ToolError
        """
        if session in self._open:
            return self._open[session]
        page = await self._add(session, policy, started)
        held_resources.hold(session, held_resources.PAGE, _WORDS)
        return page

    async def read_once(
        self, url: str, policy: NetworkPolicy, started: Callable[[ProcessIdentity], None]
    ) -> tuple[str, str]:
        """Open a page only to read it. Return its address and HTML.

        Raises: ToolError
        """
        name = f"read once: {uuid4().hex}"
        page = await self._add(name, policy, started)
        try:
            await page.visit(url)
            url, html = page.url, await page.html()
        except BaseException:
            self._beside(self.close(name))
            raise
        await self.close(name)
        return url, html

    async def _add(self, session: str, policy: NetworkPolicy, started: Callable[[ProcessIdentity], None]) -> OpenPage:
        if len(self._open) >= MOST:
            raise ToolError("Too many pages are open on this server. Try again in some minutes, or use fetch_url.")
        try:
            async with self._changing:
                page = self._open[session] = await OpenPage.open(await self._running(started), policy)
            return page
        except BaseException:
            self._beside(self._stop_if_unused())
            raise

    async def close(self, session: str) -> None:
        held_resources.release(session, held_resources.PAGE)
        self.used(session, over=True)
        if page := self._open.pop(session, None):
            await page.close()
        await self._stop_if_unused()

    def used(self, session: str, *, over: bool = False) -> None:
        """Restart the timer that closes the page, or cancel it if the page is `over`."""
        if timer := self._idle.pop(session, None):
            timer.cancel()
        if not over and session in self._open:
            loop = asyncio.get_running_loop()
            self._idle[session] = loop.call_later(IDLE_S, lambda: self._beside(self.close(session)))

    def abandon(self, session: str, *, close: bool) -> None:
        """Stop loading the page, or close it, without waiting."""
        if page := self._open.get(session):
            self._beside(self.close(session) if close else page.stop_loading())

    async def _running(self, started: Callable[[ProcessIdentity], None]) -> Chromium:
        """Return the browser. Cancelling the caller does not cancel its start."""
        if self._chromium is None:
            self._chromium = asyncio.create_task(Chromium(self._lost).start(started))
        try:
            return await asyncio.shield(self._chromium)
        except ToolError:
            self._chromium = None
            raise

    async def _stop_if_unused(self) -> None:
        async with self._changing:
            running = self._chromium
            if running is not None and not self._open:
                self._chromium = None
                with suppress(ToolError):  # it did not start
                    await (await running).stop()

    def _lost(self) -> None:
        """Drop all pages after the browser has ended by itself."""
        sessions, self._open = list(self._open), {}
        running, self._chromium = self._chromium, None
        for session in sessions:
            held_resources.release(session, held_resources.PAGE)
            self.used(session, over=True)
        if running is not None:
            self._beside(running.result().stop())

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


pages = Pages()
