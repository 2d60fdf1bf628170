"""IP addresses: networks that a limit counts as one client, and trusted networks."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network


def client_network(address: str) -> str:
    """Return the address, or the /64 network of an IPv6 address, all of which belongs to one customer.

    Text that is not an address is returned unchanged.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))


def read_networks(texts: Sequence[str]) -> list[Network]:
    """Parse the addresses and networks of TRUSTED_PROXIES.

    Raises: ValueError with a sentence for the administrator.
    """
    try:
        return [ip_network(text.strip()) for text in texts if text.strip()]
    except ValueError as error:
        raise ValueError(f"{error}. Name addresses, such as 10.0.0.5, or networks, such as 10.0.0.0/24.") from error


def is_in(address: str, networks: Sequence[Network]) -> bool:
    """Return whether the address is in one of the networks; False for text that is not an address."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in networks)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a server that listens on `host`."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_ipv6(text: str) -> bool:
    """Return whether the text is an IPv6 address without brackets."""
    try:
        return isinstance(ip_address(text), IPv6Address)
    except ValueError:
        return False


def without_port(text: str) -> str:
    """Return the address in an entry of X-Forwarded-For without its port, '' if it is not an address."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return ""
