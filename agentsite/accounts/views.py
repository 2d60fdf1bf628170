"""Signing in by the link that the server printed."""

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache

from agentsite.accounts import sign_in


@never_cache
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """One click, once."""
    user = sign_in.user_of(token)
    if user is None:
        messages.error(request, "This sign-in link was used already or is too old. Sign in with your password instead.")
        return redirect("account_login")
    login(request, user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return redirect("/")
