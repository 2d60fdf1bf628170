"""Detection of internal IP addresses, in every spelling."""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

# IANA's registry of special-purpose addresses: everything except hosts on the public internet. We list them here
# because the definition of global addresses in `ipaddress` changes with the version of Python.
_INTERNAL_V4 = [
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers (CGNAT)
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's metadata and agents, only reachable from inside
        "169.254.0.0/16",  # link-local, and the clouds' metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
]
_PUBLIC_V6 = IPv6Network("2000::/3")  # the only part of IPv6 assigned to hosts, except for the following
_INTERNAL_V6 = [
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: tunnels to any IPv4 address
        "3fff::/20",  # documentation
    )
]
_IPV4_EMBEDDING = [
    IPv6Network("::ffff:0:0/96"),  # IPv4-mapped
    IPv6Network("64:ff9b::/96"),  # NAT64: IPv4 for hosts that only have IPv6
]
_ISATAP = 0x0000_5EFE  # start of the lower half of an address (RFC 5214); one bit may differ
_ISATAP_MASK = 0xFDFF_FFFF


def literal_address(host: str) -> Address | None:
    """Return the address that a URL's host spells, in any form that a resolver accepts ("127.1", "0x7f.1").

    Return None for a name. `localhost` and the names below it spell the loopback address (RFC 6761).
    """
    host = host.rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    return _ipv6(host) if ":" in host else _ipv4(host)


def _ipv4(host: str) -> IPv4Address | None:
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def _ipv6(host: str) -> Address | None:
    try:
        address = IPv6Address(host)
    except ValueError:
        return None
    return address.ipv4_mapped or address


def is_internal(address: Address) -> bool:
    """Return whether this is not a public internet host. An IPv4 address inside IPv6 is judged as IPv4."""
    if isinstance(address, IPv4Address):
        return any(address in network for network in _INTERNAL_V4)
    inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    if any(address in network for network in _IPV4_EMBEDDING):
        return is_internal(inner)
    if (int(address) >> 32) & _ISATAP_MASK == _ISATAP and is_internal(inner):
        return True
    return address not in _PUBLIC_V6 or any(address in network for network in _INTERNAL_V6)
