"""The network policy of tools, and requests that obey it."""

from tools_app.network.fetch import FetchedResponse, OutgoingRequest, send
from tools_app.network.policy import NetworkPolicy, check_url, parse_url

__all__ = ["FetchedResponse", "NetworkPolicy", "OutgoingRequest", "check_url", "parse_url", "send"]
