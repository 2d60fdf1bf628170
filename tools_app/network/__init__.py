"""The network policy of tools, and requests that obey it."""

from tools_app.network.fetch import Fetched, Outgoing
from tools_app.network.policy import NetworkPolicy, check_url, parse_url

__all__ = [
    "Fetched",
    "NetworkPolicy",
    "Outgoing",
    "check_url",
    "parse_url",
]
