"""The adapter of allauth: administrators create accounts, visitors do not."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as current
from django.conf import settings
from django.http import HttpRequest

from agentsite.accounts.login_limits import SignInAttempt


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send a mail whose links and names use AGENTSITE_URL, whatever the host of the request."""
        super().send_mail(template_prefix, email, _with_public_addresses(context))

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """Check a password. Every sign-in passes here, so attempts are limited here.

        Raises: TooManyAttempts.
        """
        attempt = SignInAttempt(credentials.get("username", ""), request.META.get("REMOTE_ADDR", ""))
        user = super().authenticate(request, **credentials)
        if user is not None:
            attempt.succeeded()
        return user


def _with_public_addresses(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context of a mail with the public address in place of the request's."""
    if not settings.AGENTSITE_URL:
        return context
    request_url, host = current.request.build_absolute_uri("/"), urlsplit(settings.AGENTSITE_URL).netloc
    public = {
        name: f"{settings.AGENTSITE_URL}/{value.removeprefix(request_url)}"
        for name, value in context.items()
        if isinstance(value, str) and value.startswith(request_url)
    }
    return {**context, **public, "current_site": SimpleNamespace(name=host, domain=host)}
