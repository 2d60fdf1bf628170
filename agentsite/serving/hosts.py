"""Advice about the names under which the server answers."""

from django.conf import settings

from agentsite.addresses import is_loopback


def hosts_sentence(host: str) -> str:
    """Return advice if others can reach the server, but under no name that it answers to; '' otherwise."""
    if is_loopback(host) or settings.HOSTS_OF_OTHERS:
        return ""
    return (
        f"The server listens on {host} and answers only to 127.0.0.1 and localhost. Set AGENTSITE_URL to the address "
        "that people open, or ALLOWED_HOSTS to its host names."
    )
