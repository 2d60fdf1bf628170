"""The network policy: the public internet, and internal hosts that an administrator allows."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from socket import socket
from typing import Protocol

from yarl import URL

from tools_app.errors import AddressRefused
from tools_app.network.addresses import Address, is_internal, literal_address

_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")  # no zone ids, no percent-encoding
_HOST_PORT = re.compile(r"(?P<host>[a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>\d{1,5}))?", re.ASCII | re.IGNORECASE)
_INTERNAL_MESSAGE = (
    "{host} is an internal address. Only public addresses can be reached; an administrator can allow this one "
    "(network: allow_internal)."
)
_LOOPBACK_MESSAGE = (
    "A server that your commands run on port {port} is reached as http://sandbox:{port}/, not as {host}."
)


SANDBOX = "sandbox"  # the host name of the session's own sandbox


class Ports(Protocol):
    """The ports of a session's sandbox."""

    async def open(self, port: int) -> socket:
        """Return a connected stream socket.

        Raises: PortUnreachable
        """


@dataclass(frozen=True, kw_only=True)
class NetworkPolicy:
    """The hosts and addresses that a tool can reach.

    `allow_internal` lists internal hosts that are allowed, each as "host" (any port) or "host:port". `only_hosts`, if
    set, limits requests to these hosts: "*.name" matches all names below a name, "*" every host. `sandbox` holds the
    ports behind the host name `sandbox`.

    Raises: ValueError on creation if an entry of `allow_internal` is invalid.
    """

    allow_internal: frozenset[str] = frozenset()
    only_hosts: frozenset[str] | None = None
    sandbox: Ports | None = None

    def __post_init__(self) -> None:
        _ = self._allowed_hosts  # parses the entries, so that an invalid one is reported now

    def permits(self, host: str, port: int, address: Address) -> bool:
        """Return whether a request for `host` and `port` can connect to `address`."""
        if not is_internal(address):
            return True
        return any(
            (name, p) in self._allowed_hosts for name in (_normalized_host(host), str(address)) for p in (port, None)
        )

    def includes_host(self, host: str) -> bool:
        """Return whether `only_hosts` includes `host`."""
        if self.only_hosts is None or "*" in self.only_hosts:
            return True
        name = _normalized_host(host)
        dots = (position for position, character in enumerate(name) if character == ".")
        return name in self.only_hosts or any(f"*{name[position:]}" in self.only_hosts for position in dots)

    def leads_to_sandbox(self, url: URL) -> bool:
        """Return whether `url` refers to the session's own sandbox, a name that no name server knows."""
        return self.sandbox is not None and url.raw_host == SANDBOX

    def allows_by_name(self, url: URL) -> bool:
        """Return whether an administrator has allowed the host of `url` in addition to public hosts."""
        return any(
            name == _normalized_host(url.raw_host or "") and port in (url.port, None)
            for name, port in self._allowed_hosts
        )

    def with_host_of(self, url: str) -> "NetworkPolicy":
        """Return a policy that also permits the host and port of `url`, a service that an administrator has set up."""
        service = parse_url(url)
        return replace(self, allow_internal=self.allow_internal | {f"{service.host_subcomponent}:{service.port}"})

    @cached_property
    def _allowed_hosts(self) -> frozenset[tuple[str, int | None]]:
        return frozenset(_parse_entry(text) for text in self.allow_internal)


def check_url(text: str, policy: NetworkPolicy) -> URL:
    """Return the URL to request. Names are not resolved here: their addresses are checked on connecting.

    Raises: AddressRefused with a sentence for the model.
    """
    url = parse_url(text.strip())
    if url.scheme not in ("http", "https"):
        raise AddressRefused("Only whole addresses that begin with http:// or https:// can be reached.")
    if url.user or url.password:
        raise AddressRefused("A URL with a user name or a password is not allowed.")
    check_host(url, policy)
    return url


def parse_url(text: str) -> URL:
    """Parse a URL.

    Raises: AddressRefused if it is invalid.
    """
    try:
        return URL(text)
    except (ValueError, IndexError) as error:  # yarl 1.25 raises IndexError for "http://[::1]@/"
        raise AddressRefused(f"{text[:200]!r} is not a valid URL: {error}") from error


def check_host(url: URL, policy: NetworkPolicy) -> None:
    """Check the host of `url`.

    Raises: AddressRefused if it is malformed or spells an internal address that is not allowed.
    """
    host, port = url.raw_host or "", url.port or 0
    if not _HOST.fullmatch(host):
        raise AddressRefused(f"This is not a valid URL: its host is {host!r}.")
    if not policy.includes_host(host):
        raise AddressRefused(f"{host} is not among the hosts that an administrator allows here.")
    address = literal_address(host)
    if address and not policy.permits(host, port, address):
        if policy.sandbox and (address.is_loopback or address.is_unspecified):
            raise AddressRefused(_LOOPBACK_MESSAGE.format(host=host, port=port))
        raise AddressRefused(_INTERNAL_MESSAGE.format(host=host))


def _parse_entry(text: str) -> tuple[str, int | None]:
    match = _HOST_PORT.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is neither a host nor host:port")
    return _normalized_host(match["host"].strip("[]")), int(match["port"]) if match["port"] else None


def _normalized_host(host: str) -> str:
    """Normalize the spelling of a host."""
    return str(literal_address(host) or host.rstrip(".").lower())
