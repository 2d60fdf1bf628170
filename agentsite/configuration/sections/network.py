from collections.abc import Iterator

from agentsite.configuration import schema
from agentsite.configuration.rows import put
from tools_app.models import AllowedAddress


def apply(network: schema.Network) -> Iterator[str]:
    for address in network.allow_internal:
        row = AllowedAddress.objects.filter(address=address).first() or AllowedAddress(address=address)
        yield from put(row, {}, f"network: internal address {address}")
