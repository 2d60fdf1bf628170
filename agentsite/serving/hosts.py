"""The names under which the server answers, compared with where it listens."""

from django.conf import settings

from agentsite.addresses import is_loopback


def hosts_sentence(host: str) -> str:
    """Return what to set where others reach the server, but under no name that it answers to; empty if all is well."""
    if is_loopback(host) or settings.HOSTS_OF_OTHERS:
        return ""
    return (
        f"The server listens on {host} and answers only to 127.0.0.1 and localhost. Set AGENTSITE_URL to the address "
        "that people open, or ALLOWED_HOSTS to its host names."
    )
