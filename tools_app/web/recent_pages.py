"""A cache of long pages and documents, so that reading on needs no new request and sees the same content."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from tools_app.web.reader import WebDocument, WebPage

MAX_AGE_S = 600.0
MAX_SIZE = 40_000_000  # total characters of pages and bytes of documents


@dataclass(frozen=True, kw_only=True)
class ReadPage:
    """A page that was read. `url` is the address after redirects; `truncated` means that the source was longer."""

    page: WebPage
    url: str
    truncated: bool


@dataclass(frozen=True, kw_only=True)
class _CachedPage:
    read: ReadPage | WebDocument
    read_at: float = field(default_factory=time.monotonic)

    @property
    def size(self) -> int:
        return len(self.read.page.text if isinstance(self.read, ReadPage) else self.read.data)


class RecentPages:
    """Cached pages by session and address, newest last. All methods run on one event loop."""

    def __init__(self) -> None:
        self._pages: OrderedDict[tuple[str, str], _CachedPage] = OrderedDict()

    def add(self, session: str, address: str, read: ReadPage | WebDocument) -> None:
        self._pages.pop((session, address), None)
        self._pages[session, address] = _CachedPage(read=read)
        while sum(page.size for page in self._pages.values()) > MAX_SIZE or self._oldest_has_expired():
            self._pages.popitem(last=False)

    def get(self, session: str, address: str) -> ReadPage | WebDocument | None:
        page = self._pages.get((session, address))
        return page.read if page and time.monotonic() - page.read_at < MAX_AGE_S else None

    def _oldest_has_expired(self) -> bool:
        return time.monotonic() - next(iter(self._pages.values())).read_at >= MAX_AGE_S if self._pages else False


recent_pages = RecentPages()
