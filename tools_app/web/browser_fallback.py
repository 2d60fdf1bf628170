"""Pages that show nothing without JavaScript: a reader service reads them where one is set up, else our browser."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from tools_app.browser.program import installed
from tools_app.errors import ToolError
from tools_app.network.fetch import Fetched
from tools_app.network.policy import NetworkPolicy
from tools_app.sandbox.base import Started
from tools_app.web.extractor import extracted
from tools_app.web.page import Page
from tools_app.web.reader_service import ReaderService
from tools_app.web.visible import visible

_LITTLE = 100  # characters: "Loading…", "Please enable JavaScript"
_SCRIPT = re.compile(rb"<script\b", re.IGNORECASE)


def shows_nothing(page: Page, fetched: Fetched) -> bool:
    return len(page.text) < _LITTLE and bool(_SCRIPT.search(fetched.body))


async def second_look(
    fetched: Fetched, policy: NetworkPolicy, service: ReaderService | None, started: Callable[[Started], None]
) -> Page | None:
    """None where nobody can do better."""
    if service:
        try:
            page = await service.read(fetched.url, policy)
            if page.text:
                return replace(page, by="read by the reader service")
        except ToolError:
            pass  # then the browser
    if not installed():
        return None
    try:
        pages = (await asyncio.to_thread(import_module, "tools_app.browser.pages")).pages
        url, html = await pages.glance(fetched.url, policy, started)
        read = await extracted(html, url)
    except ToolError:
        return None
    return Page(title=visible(read["title"]), text=visible(read["text"]), by="read with the browser")
