"""A cache of long pages and documents, so that reading on needs no new request and sees the same content."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from tools_app.web.reader import Page, WebDocument

KEPT_S = 600.0
MOST = 40_000_000  # total characters of pages and bytes of documents


@dataclass(frozen=True, kw_only=True)
class ReadPage:
    """A page that was read. `url` is the address after redirects; `truncated` means that the source was longer."""

    page: Page
    url: str
    truncated: bool


@dataclass(frozen=True, kw_only=True)
class _Kept:
    read: ReadPage | WebDocument
    read_at: float = field(default_factory=time.monotonic)

    @property
    def size(self) -> int:
        return len(self.read.page.text if isinstance(self.read, ReadPage) else self.read.data)


class RecentPages:
    """Cached pages by session and address, newest last. All methods run on one event loop."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def keep(self, session: str, address: str, read: ReadPage | WebDocument) -> None:
        self._pages.pop((session, address), None)
        self._pages[session, address] = _Kept(read=read)
        while sum(kept.size for kept in self._pages.values()) > MOST or self._is_old():
            self._pages.popitem(last=False)

    def found(self, session: str, address: str) -> ReadPage | WebDocument | None:
        kept = self._pages.get((session, address))
        return kept.read if kept and time.monotonic() - kept.read_at < KEPT_S else None

    def _is_old(self) -> bool:
        return time.monotonic() - next(iter(self._pages.values())).read_at >= KEPT_S if self._pages else False


recent_pages = RecentPages()
