"""Long pages that were read a moment ago: who reads on gets the rest of the same text, without another request."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from tools_app.web.reader import Page

KEPT_S = 600.0
MOST = 8_000_000  # characters of all pages together


@dataclass(frozen=True, kw_only=True)
class ReadPage:
    """`url` is where the last redirect led; `truncated` means that its source went on."""

    page: Page
    url: str
    truncated: bool
    read_at: float = field(default_factory=time.monotonic)


class RecentPages:
    """By session and address, the newest last. All of it runs on one event loop."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[str, str], ReadPage] = OrderedDict()

    def keep(self, session: str, address: str, page: ReadPage) -> None:
        self._pages.pop((session, address), None)
        self._pages[session, address] = page
        while sum(len(kept.page.text) for kept in self._pages.values()) > MOST or self._is_old():
            self._pages.popitem(last=False)

    def page(self, session: str, address: str) -> ReadPage | None:
        kept = self._pages.get((session, address))
        return kept if kept and time.monotonic() - kept.read_at < KEPT_S else None

    def _is_old(self) -> bool:
        return time.monotonic() - next(iter(self._pages.values())).read_at >= KEPT_S if self._pages else False


recent_pages = RecentPages()
