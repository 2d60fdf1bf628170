"""The server address of a request, and its proxy."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from llm_app import errors


class InvalidAddress(ValueError):
    """This is no address of a server."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """A parsed URL. `path` includes the query, `authority` is the value of the Host header, and `credentials` is
    "name:password".
    """

    scheme: str
    host: str
    port: int
    path: str
    authority: str
    credentials: str = ""
    proxy: "Address | None" = None

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def is_tunnelled(self) -> bool:
        """Return whether the proxy only forwards encrypted bytes."""
        return self.proxy is not None and self.is_secure

    @property
    def pool_key(self) -> tuple[object, ...]:
        """Return the key under which idle connections are stored."""
        return self.scheme, self.host, self.port, self.proxy

    def authorization_lines(self, header: str) -> Sequence[str]:
        """Return the header line with the credentials, or no line. Source: RFC 7617."""
        if not self.credentials:
            return []
        return [f"{header}: Basic {base64.b64encode(self.credentials.encode()).decode()}"]


@lru_cache(maxsize=256)
def address_of(url: str) -> Address:
    """Parse a URL and find its proxy in the environment. Results are cached.

    Raises: ConnectionFailed.
    """
    try:
        return _parse(url, _proxy_of(url))
    except ValueError as error:
        raise errors.ConnectionFailed("this is no address of a server") from error


def _proxy_of(url: str) -> Address | None:
    target = URL(url)
    proxy = None if proxy_bypass(target.host or "") else getproxies().get(target.scheme)
    if proxy is None:
        return None
    return _parse(proxy if "://" in proxy else f"http://{proxy}", None)  # a proxy without scheme, as in curl


def _parse(url: str, proxy: Address | None) -> Address:
    target = URL(url)
    if target.scheme not in ("http", "https") or not target.raw_host or not target.port:
        raise InvalidAddress()  # without the URL, which may contain a password
    return Address(
        scheme=target.scheme,
        host=target.raw_host,
        port=target.port,
        path=target.raw_path_qs or "/",
        authority=target.host_port_subcomponent or "",
        credentials=f"{target.user or ''}:{target.password or ''}" if target.user or target.password else "",
        proxy=proxy,
    )
