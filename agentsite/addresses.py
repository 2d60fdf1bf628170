"""What counts as one address, where something is bounded for each; and which addresses are trusted."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network


def network(address: str) -> str:
    """The address; of IPv6 the /64 around it, which is what one customer has. What is no address stays as it is."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))


def read_networks(texts: Sequence[str]) -> list[Network]:
    """Addresses and networks as they are written in TRUSTED_PROXIES. Raises ValueError with a sentence."""
    try:
        return [ip_network(text.strip()) for text in texts if text.strip()]
    except ValueError as error:
        raise ValueError(f"{error}. Name addresses, such as 10.0.0.5, or networks, such as 10.0.0.0/24.") from error


def is_in(address: str, networks: Sequence[Network]) -> bool:
    """What is no address is in none."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return any((mapped or parsed) in network for network in networks)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a server that listens there."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_ipv6(text: str) -> bool:
    """Return whether this is an IPv6 address without brackets."""
    try:
        return isinstance(ip_address(text), IPv6Address)
    except ValueError:
        return False


def without_port(text: str) -> str:
    """The address in an entry of X-Forwarded-For; empty if there is none."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return ""
