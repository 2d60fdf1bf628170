"""How allauth treats this site: accounts are made by administrators, not by visitors."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest

from agentsite.accounts.tries import Try


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def authenticate(self, request: HttpRequest, **credentials: Any) -> Any:
        """The one place where a password is looked at to let somebody in. Raises TooManyTries."""
        attempt = Try(credentials.get("username", ""), request.META.get("REMOTE_ADDR", ""))
        user = super().authenticate(request, **credentials)
        if user is not None:
            attempt.succeeded()
        return user
