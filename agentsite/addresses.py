"""What counts as one address, where something is bounded for each."""

from ipaddress import IPv6Address, IPv6Network, ip_address


def network(address: str) -> str:
    """The address; of IPv6 the /64 around it, which is what one customer has. What is no address stays as it is."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
