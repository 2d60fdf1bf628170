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
    """A parsed URL.

    `path` includes the query, `authority` is the value of the Host header, and `user` is "name:password".
    """

    scheme: str
    host: str
    port: int
    path: str
    authority: str
    user: str = ""
    proxy: "Address | None" = None

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def is_tunnelled(self) -> bool:
        """Return whether the proxy only forwards encrypted bytes."""
        return self.proxy is not None and self.is_secure

    @property
    def server(self) -> tuple[object, ...]:
        """Return the key under which connections are pooled."""
        return self.scheme, self.host, self.port, self.proxy

    def authorization(self, header: str) -> Sequence[str]:
        """Return the header line that authenticates the user, or no line. Source: RFC 7617."""
        return [f"{header}: Basic {base64.b64encode(self.user.encode()).decode()}"] if self.user else []


@lru_cache(maxsize=256)
def address_of(url: str) -> Address:
    """Parse a URL and find its proxy in the environment. Results are cached.

    Raises: ConnectionFailed.
    """
    try:
        return _parsed(url, _proxy_to(url))
    except ValueError as error:
        raise errors.ConnectionFailed("this is no address of a server") from error


def _proxy_to(url: str) -> Address | None:
    to = URL(url)
    proxy = None if proxy_bypass(to.host or "") else getproxies().get(to.scheme)
    if proxy is None:
        return None
    return _parsed(proxy if "://" in proxy else f"http://{proxy}", None)  # as curl and others read it


def _parsed(url: str, proxy: Address | None) -> Address:
    to = URL(url)
    if to.scheme not in ("http", "https") or not to.raw_host or not to.port:
        raise InvalidAddress()  # without the URL, which may contain a password
    return Address(
        scheme=to.scheme,
        host=to.raw_host,
        port=to.port,
        path=to.raw_path_qs or "/",
        authority=to.host_port_subcomponent or "",
        user=f"{to.user or ''}:{to.password or ''}" if to.user or to.password else "",
        proxy=proxy,
    )
