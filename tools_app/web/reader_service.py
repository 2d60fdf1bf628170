"""A service that reads pages for us, where an administrator has set one up: it runs their JavaScript."""

from dataclasses import dataclass, field

from tools_app.errors import FetchFailed
from tools_app.network.fetch import fetch
from tools_app.network.policy import NetworkPolicy, parse_url
from tools_app.web.reader import Page
from tools_app.web.untrusted import visible

_MAX_BYTES = 2 * 1024**2
_TIMEOUT_S = 40


@dataclass(frozen=True, kw_only=True)
class ReaderService:
    """It answers `base_url` + address with the page's text, as Jina's reader does. It learns every address it reads."""

    base_url: str
    key: str = field(default="", repr=False)

    async def read(self, url: str, policy: NetworkPolicy) -> Page:
        """Raises AddressRefused, FetchFailed. An address that is only allowed here, not public, is told to nobody."""
        if policy.allows_by_name(parse_url(url)):
            raise FetchFailed("An internal page is not shown to the reader service.")
        headers = {"Accept": "text/plain"} | ({"Authorization": f"Bearer {self.key}"} if self.key else {})
        fetched = await fetch(
            f"{self.base_url}{url}",
            policy.with_host_of(self.base_url),
            max_bytes=_MAX_BYTES,
            timeout_s=_TIMEOUT_S,
            headers=headers,
        )
        if fetched.status != 200:
            raise FetchFailed(f"The reader service answered with HTTP status {fetched.status}.")
        return Page(title="", text=visible(fetched.body.decode(errors="replace")))
