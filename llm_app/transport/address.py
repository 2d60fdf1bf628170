"""Where a request goes, and by which proxy."""

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
    """`path` as it is asked for; `authority` for the header Host; `user` with the password, where it has them."""

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
        """Whether its proxy passes on bytes that it cannot read."""
        return self.proxy is not None and self.is_secure

    @property
    def server(self) -> tuple[object, ...]:
        """What connections are told apart by."""
        return self.scheme, self.host, self.port, self.proxy

    def authorization(self, header: str) -> Sequence[str]:
        """The line of a header for the user, if there is one. Source: RFC 7617."""
        return [f"{header}: Basic {base64.b64encode(self.user.encode()).decode()}"] if self.user else []


@lru_cache(maxsize=256)
def address_of(url: str) -> Address:
    """With the proxy that the environment names for it; both are looked up once. Raises ConnectionFailed."""
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
        raise InvalidAddress()  # without it: it may have a password
    return Address(
        scheme=to.scheme,
        host=to.raw_host,
        port=to.port,
        path=to.raw_path_qs or "/",
        authority=to.host_port_subcomponent or "",
        user=f"{to.user or ''}:{to.password or ''}" if to.user or to.password else "",
        proxy=proxy,
    )
