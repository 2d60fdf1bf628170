"""The page of a session's browser: its view and its actions."""

import asyncio
import re
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import Literal

from playwright.async_api import BrowserContext, Error, FloatRect, Frame, Locator, Page, Route
from playwright.async_api import TimeoutError as PlaywrightTimeout
from yarl import URL

from tools_app.browser.chromium import HEIGHT, WIDTH, Chromium
from tools_app.browser.events import PageEvents
from tools_app.browser.tree import FOCUSABLE_BOXES, concise_tree
from tools_app.documents.document import visible
from tools_app.errors import AddressRefused, FetchFailed, PageLost, ToolError
from tools_app.network import NetworkPolicy, check_url
from tools_app.network.proxy.grant import ProxyGrant
from tools_app.web.untrusted import enclose

ACTION_S = 8  # seconds for a click or similar action
LOAD_S = 30  # seconds for the page itself
_IDLE_TIMEOUT_S = 3  # seconds for resources that it loads afterwards
_CLOSE_S = 2
_MAX_VIEW = 500_000  # characters
_MAX_WINDOWS = 5
_MAX_FRAMES = 20  # frames of a page that are asked for their focusable elements
_NARROW, _PHONE_HEIGHT = 600, 844  # pixels: a window of less width is as high as a phone
_SLICE, _MAX_SLICES = 1_568, 4  # height, and number, of the pictures of a whole page: models see no higher ones
_REF = re.compile(r"(f\d+)?e\d+")
_USUAL_STATUSES = (200, 304)
_NO = ("", "0", "false", "no", "off", "unchecked")  # words that clear a checkbox

_LOCAL_SCHEMES = ("data", "blob", "about")  # schemes of content within the page


class OpenPage:
    """A session's page. The newest window is current; when it closes, the previous one becomes current."""

    def __init__(self, chromium: Chromium, context: BrowserContext, proxy_grant: ProxyGrant) -> None:
        self._chromium, self._context, self._proxy_grant = chromium, context, proxy_grant
        self._events = PageEvents(context)
        self._width = WIDTH

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
        """Set the policy for the next action."""
        self._proxy_grant.renew(policy)

    async def resize(self, width: int) -> None:
        """Set the width of the windows in pixels."""
        self._width = width
        for page in self._context.pages:
            await self._perform(self._fit(page))

    async def _fit(self, page: Page) -> None:
        height = _PHONE_HEIGHT if self._width < _NARROW else HEIGHT
        await page.set_viewport_size({"width": self._width, "height": height})

    # --- actions ------------------------------------------------------------------------------------------------

    async def visit(self, url: str) -> None:
        """Load a page.

        Raises: AddressRefused, FetchFailed
        """
        checked = check_url(url, self._proxy_grant.policy)
        self._events.take()  # of the page that is left
        try:
            response = await self._page.goto(str(checked), wait_until="domcontentloaded", timeout=LOAD_S * 1000)
        except Error as error:
            await self.stop_loading()
            if "ERR_HTTP_RESPONSE_CODE_FAILURE" in error.message:
                status = self._events.newest_status
                raise FetchFailed(f"The address answered with HTTP status {status} without a page.") from error
            proxy_error = self._proxy_grant.last_error if "ERR_TUNNEL" in error.message else None
            raise proxy_error or load_error(error, LOAD_S) from error
        if response and response.headers.get("proxy-status", "").startswith("agentsite"):
            raise self._proxy_grant.last_error or AddressRefused()
        await self._wait_until_idle()

    async def click(self, ref: str) -> None:
        element = await self._element(ref)
        await self._perform(element.click())

    async def input(self, texts: Mapping[str, str], *, submit: bool) -> None:
        """Fill in fields by their references, and press Enter in the last one if `submit`.

        Raises: ToolError, which names the field, and the fields that were filled in before.
        """
        filled: list[str] = []
        for ref, text in texts.items():
            try:
                element = await self._element(ref)
                await self._fill(ref, element, text)
                filled.append(ref)
                if submit and len(filled) == len(texts):
                    await self._perform(element.press("Enter"))
            except ToolError as error:
                if len(texts) == 1 or isinstance(error, PageLost):
                    raise
                done = f"These fields are filled in: {', '.join(filled)}." if filled else "No field is filled in."
                raise ToolError(f"{error} {done}") from error
        await self._wait_until_idle()

    async def _fill(self, ref: str, element: Locator, text: str) -> None:
        """Fill in a field, select an option by its text, or check a box."""
        try:
            kind = await element.evaluate("element => String(element.type)", timeout=ACTION_S * 1000)
            if kind.startswith("select-"):
                await element.select_option(text)
                await self._wait_until_idle()  # a choice may change the fields after it
            elif kind in ("checkbox", "radio"):
                await element.set_checked(text.strip().lower() not in _NO)
            else:
                await element.fill(text)
        except Error as error:
            reason = action_error(error)
            if isinstance(reason, PageLost):
                raise reason from error
            if "Element is not" in error.message:
                with suppress(Error):
                    tag = await element.evaluate("element => element.localName.slice(0, 30)", timeout=ACTION_S * 1000)
                    reason = ToolError(f"it is a <{tag}>. Take the ref of a field, as a textbox, from the newest view.")
            raise ToolError(f"{ref} was not filled in: {reason}") from error

    async def scroll(self, ref: str, direction: Literal["up", "down"]) -> None:
        """Scroll to an element, or by most of a screen."""
        if ref:
            await self._perform((await self._element(ref)).scroll_into_view_if_needed())
        else:
            await self._perform(self._page.mouse.wheel(0, 800 if direction == "down" else -800))

    async def screenshot(self, ref: str = "") -> bytes:
        """Return a PNG of an element or of the screen."""
        try:
            if ref:
                return await (await self._element(ref)).screenshot()
            return await self._page.screenshot()
        except Error as error:
            raise action_error(error) from error

    async def whole_page(self) -> tuple[list[bytes], int]:
        """Return PNGs of the page from its top, a few slices, and the height of the rest in pixels."""
        try:
            devtools = await self._context.new_cdp_session(self._page)
            height = round((await devtools.send("Page.getLayoutMetrics"))["cssContentSize"]["height"])
            await devtools.detach()
            end = min(max(height, 1), _MAX_SLICES * _SLICE)
            slices = [
                FloatRect(x=0, y=top, width=self._width, height=min(_SLICE, end - top)) for top in range(0, end, _SLICE)
            ]
            return [await self._page.screenshot(full_page=True, clip=clip) for clip in slices], max(height - end, 0)
        except Error as error:
            raise action_error(error) from error

    async def view(self) -> str:
        """Return the page as text for a model: its elements with references, and notes about events."""
        page = self._page
        try:
            async with asyncio.timeout(ACTION_S):
                title, snapshot = await page.title(), await page.aria_snapshot(mode="ai", boxes=True)
                boxes = [box for frame in page.frames[:_MAX_FRAMES] for box in await _focusable_boxes(frame)]
        except TimeoutError as error:
            raise PageLost() from error
        except Error as error:
            raise action_error(error) from error
        status = self._events.status_of(page.url)
        lines = [
            f"Title: {title[:300]}",
            *([f"HTTP status: {status}"] if status not in _USUAL_STATUSES else []),
            *([f"Width: {self._width}"] if self._width != WIDTH else []),
            *self._events.take(),
            "",
        ]
        tree = concise_tree(snapshot, boxes)
        cut = f"\n… {len(tree) - _MAX_VIEW} more characters are not shown" if len(tree) > _MAX_VIEW else ""
        return enclose(self.url, visible("\n".join([*lines, f"{tree[:_MAX_VIEW]}{cut}"])))

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
        elif self._width != WIDTH:
            with suppress(Error):
                await self._fit(page)


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


async def _focusable_boxes(frame: Frame) -> list[str]:
    """Return the boxes of elements to act on that their roles do not reveal, or nothing for a frame without scripts."""
    with suppress(Error):
        return [str(box) for box in await frame.evaluate(FOCUSABLE_BOXES)]
    return []
