"""The page of a session's browser: its view, its actions, and the events that the view does not show."""

import asyncio
import re
from collections.abc import Awaitable
from contextlib import suppress
from typing import Literal

from playwright.async_api import BrowserContext, Dialog, Download, Error, Locator, Page, Route
from playwright.async_api import TimeoutError as PlaywrightTimeout
from yarl import URL

from tools_app.browser.chromium import Chromium
from tools_app.documents.document import visible
from tools_app.errors import AddressRefused, FetchFailed, PageLost, ToolError
from tools_app.network import NetworkPolicy, check_url
from tools_app.network.proxy.grant import ProxyGrant
from tools_app.web.untrusted import enclose

_MAX_NOTES = 10
_MAX_EXCERPT = 300


class PageEvents:
    """Notes about events on the pages, collected until they are read.

    Nothing waits for a person: dialogs are dismissed, and leaving a page is always allowed.
    """

    def __init__(self, context: BrowserContext) -> None:
        self._notes: list[str] = []
        context.on("dialog", self._on_dialog)
        context.on("page", self._on_page)

    def take(self) -> list[str]:
        notes, self._notes = self._notes, []
        return notes

    def note(self, text: str) -> None:
        if text not in self._notes and len(self._notes) < _MAX_NOTES:
            self._notes.append(text)

    def _on_page(self, page: Page) -> None:
        page.on("download", self._on_download)
        page.on("crash", lambda _: self.note("The page crashed; it may have needed too much memory."))

    async def _on_dialog(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # dismissing it would block navigation forever
            await dialog.accept()
            return
        self.note(f"A dialog ({dialog.type}) was dismissed. It said: {dialog.message[:_MAX_EXCERPT]!r}")
        await dialog.dismiss()

    def _on_download(self, download: Download) -> None:
        name, url = download.suggested_filename[:_MAX_EXCERPT], download.url[:_MAX_EXCERPT]
        self.note(f"A download was not saved: {name!r} from {url}. The tool fetch_url reads documents.")


ACTION_S = 8  # seconds for a click or similar action
LOAD_S = 30  # seconds for the page itself
_IDLE_TIMEOUT_S = 3  # seconds for resources that it loads afterwards
_CLOSE_S = 2
_MAX_VIEW = 500_000  # characters
_MAX_WINDOWS = 5
_REF = re.compile(r"(f\d+)?e\d+")

_LOCAL_SCHEMES = ("data", "blob", "about")  # schemes of content within the page


class OpenPage:
    """A session's page. The newest window is current; when it closes, the previous one becomes current."""

    def __init__(self, chromium: Chromium, context: BrowserContext, proxy_grant: ProxyGrant) -> None:
        self._chromium, self._context, self._proxy_grant = chromium, context, proxy_grant
        self._events = PageEvents(context)

    @classmethod
    async def open(cls, chromium: Chromium, policy: NetworkPolicy) -> "OpenPage":
        context, proxy_grant = await chromium.new_context(policy)
        page = cls(chromium, context, proxy_grant)
        context.set_default_timeout(ACTION_S * 1000)
        context.on("page", page._on_window)
        try:
            await context.route("**/*", page._on_request)
            await context.new_page()
        except Error as error:
            raise action_error(error) from error
        return page

    async def close(self) -> None:
        self._chromium.revoke_proxy_access(self._proxy_grant)
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                await self._context.close()

    def begin_action(self, policy: NetworkPolicy) -> None:
        """Set the policy for the next action and drop old notes."""
        self._proxy_grant.renew(policy)
        self._events.take()

    # --- actions ------------------------------------------------------------------------------------------------

    async def visit(self, url: str) -> None:
        """Load a page.

        Raises: AddressRefused, FetchFailed
        """
        checked = check_url(url, self._proxy_grant.policy)
        try:
            response = await self._page.goto(str(checked), wait_until="domcontentloaded", timeout=LOAD_S * 1000)
        except Error as error:
            await self.stop_loading()
            proxy_error = self._proxy_grant.last_error if "ERR_TUNNEL" in error.message else None
            raise proxy_error or load_error(error, LOAD_S) from error
        if response and response.headers.get("proxy-status", "").startswith("agentsite"):
            raise self._proxy_grant.last_error or AddressRefused()
        await self._wait_until_idle()

    async def click(self, ref: str) -> None:
        element = await self._element(ref)
        await self._perform(element.click())

    async def input(self, ref: str, text: str, *, submit: bool) -> None:
        """Fill in a field, or select an option by its text."""
        element = await self._element(ref)
        is_choice = await element.evaluate("element => element.tagName === 'SELECT'", timeout=ACTION_S * 1000)
        await self._perform(element.select_option(text) if is_choice else element.fill(text))
        if submit:
            await self._perform(element.press("Enter"))

    async def scroll(self, ref: str, direction: Literal["up", "down"]) -> None:
        """Scroll to an element, or by most of a screen."""
        if ref:
            await self._perform((await self._element(ref)).scroll_into_view_if_needed())
        else:
            await self._perform(self._page.mouse.wheel(0, 800 if direction == "down" else -800))

    async def screenshot(self, ref: str) -> bytes:
        """Return a PNG of an element or of the screen."""
        try:
            if ref:
                return await (await self._element(ref)).screenshot()
            return await self._page.screenshot()
        except Error as error:
            raise action_error(error) from error

    async def view(self) -> str:
        """Return the page as text for a model: its elements with references, and notes about events."""
        try:
            async with asyncio.timeout(ACTION_S):
                title, tree = await self._page.title(), await self._page.aria_snapshot(mode="ai")
        except TimeoutError as error:
            raise PageLost() from error
        except Error as error:
            raise action_error(error) from error
        cut = f"\n… {len(tree) - _MAX_VIEW} more characters are not shown" if len(tree) > _MAX_VIEW else ""
        notes = "".join(f"Note: {note}\n" for note in self._events.take())
        return enclose(self.url, visible(f"Title: {title[:300]}\n{notes}\n{tree[:_MAX_VIEW]}{cut}"))

    async def html(self) -> str:
        """Return the HTML of the page after its scripts have run."""
        try:
            async with asyncio.timeout(ACTION_S):
                return await self._page.content()
        except (Error, TimeoutError) as error:
            raise PageLost() from error

    async def stop_loading(self) -> None:
        """Stop loading, because a page that never finishes would delay every view."""
        with suppress(Error, ToolError, TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                devtools = await self._context.new_cdp_session(self._page)
                await devtools.send("Page.stopLoading")
                await devtools.detach()

    @property
    def url(self) -> str:
        return self._page.url

    # --- within -------------------------------------------------------------------------------------------------

    @property
    def _page(self) -> Page:
        if not self._context.pages:
            raise ToolError("The page has closed itself. Visit another one.")
        return self._context.pages[-1]

    async def _element(self, ref: str) -> Locator:
        element = self._page.locator(f"aria-ref={ref}")
        try:
            is_there = bool(_REF.fullmatch(ref)) and await element.count() == 1
        except Error:  # only references of the latest view are valid
            is_there = False
        if not is_there:
            raise ToolError(f"There is no element {ref} on the page now. Look at the newest view, or view it again.")
        return element

    async def _perform(self, action: Awaitable[object]) -> None:
        try:
            await action
        except Error as error:
            raise action_error(error) from error
        await self._wait_until_idle()

    async def _wait_until_idle(self) -> None:
        """Wait until the page is idle, for a few seconds at most."""
        await asyncio.sleep(0.2)  # effects of a click start a moment later
        with suppress(Error):
            await self._page.wait_for_load_state("domcontentloaded", timeout=ACTION_S * 1000)
            await self._page.wait_for_load_state("networkidle", timeout=_IDLE_TIMEOUT_S * 1000)

    async def _on_request(self, route: Route) -> None:
        with suppress(Error):  # the page is already gone
            if reason := await continue_or_abort(route, self._proxy_grant.policy):
                self._events.note(f"{route.request.url[:200]} was not loaded: {reason}")

    async def _on_window(self, page: Page) -> None:
        if len(self._context.pages) > _MAX_WINDOWS:
            with suppress(Error):
                await page.close()


def load_error(error: Error, seconds: float) -> FetchFailed:
    if isinstance(error, PlaywrightTimeout):
        return FetchFailed(f"The page did not load within {seconds:.0f} seconds. Try again, or another source.")
    if "Download is starting" in error.message or "ERR_ABORTED" in error.message:
        return FetchFailed("This address is a download, not a page. The tool fetch_url reads documents.")
    return FetchFailed(f"The page cannot be loaded: {_first_line(error)}")


def action_error(error: Error) -> ToolError:
    if "crashed" in error.message:
        return PageLost("The page crashed; it may have needed too much memory. It is closed.")
    if isinstance(error, PlaywrightTimeout):
        return ToolError("That was not possible within a few seconds: the element may be hidden, covered or disabled.")
    return ToolError(f"The browser could not do this: {_first_line(error)}")


def _first_line(error: Error) -> str:
    line = next(iter(error.message.splitlines()), "it gives no reason")
    return re.sub(r"^\w+\.\w+: ", "", line)[:300]


def refusal_reason(url: str, policy: NetworkPolicy) -> str:
    """Return the reason why a page must not load `url`, or ''."""
    if url.split(":", 1)[0] in _LOCAL_SCHEMES:
        return ""
    try:
        check_url(str(URL(url).with_user(None)), policy)  # Chromium has already removed user name and password
    except (AddressRefused, ValueError) as error:
        return str(error)
    return ""


async def continue_or_abort(route: Route, policy: NetworkPolicy) -> str:
    """Continue a request, or abort it and return the reason."""
    reason = refusal_reason(route.request.url, policy)
    if reason:
        await route.abort("blockedbyclient")
    else:
        await route.continue_()
    return reason
