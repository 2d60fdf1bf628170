"""Settings that are dangerous, or that a team deployment needs."""

from collections.abc import Iterator

from django.conf import settings

from agentsite.checks.messages import Finding, broken, fine, note
from agentsite.environment import EMBEDDED

_NAME = "settings"
_SHORTEST_KEY = 50  # characters; Django's own check security.W009


def safe() -> Iterator[Finding]:
    """One finding for each thing that is wrong, or one that says that nothing is."""
    findings = [*_of_every_site(), *([] if EMBEDDED else _of_a_team())]
    yield from findings or [fine(_NAME, "Nothing dangerous is switched on.")]


def _of_every_site() -> Iterator[Finding]:
    if settings.DEBUG:
        yield broken(_NAME, "DEBUG is on: error pages show the server's inside to everybody.", "Unset DEBUG.")
    if len(settings.SECRET_KEY) < _SHORTEST_KEY:
        yield broken(_NAME, f"SECRET_KEY is shorter than {_SHORTEST_KEY} characters.", "Set a long random one.")
    if "*" in settings.ALLOWED_HOSTS:
        yield broken(_NAME, "ALLOWED_HOSTS allows every name.", "List the names of this site.")


def _of_a_team() -> Iterator[Finding]:
    if not any(origin.startswith("https://") for origin in settings.CSRF_TRUSTED_ORIGINS):
        yield note(
            _NAME,
            "CSRF_TRUSTED_ORIGINS names no https:// address.",
            "Put a proxy with TLS before the server, and set CSRF_TRUSTED_ORIGINS=https://your.site",
        )
    if not settings.SESSION_COOKIE_SECURE:
        yield note(_NAME, "The session's cookie is sent over plain http too.", "Serve the site over https.")
