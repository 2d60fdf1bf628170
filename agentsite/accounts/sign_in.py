"""The one-click sign-in link that `serve` prints: signed, short-lived, and valid for one sign-in.

It replaces only the password: users with a second factor must still enter a code.
"""

from allauth.account.utils import perform_login
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from agentsite.accounts.models import User

_SALT = "agentsite.sign-in"
VALID_SECONDS = 15 * 60


def link(base: str, user: User) -> str:
    return base + reverse("sign_in_link", args=[token(user)])


def token(user: User) -> str:
    return signing.dumps([user.pk, _stamp(user)], salt=_SALT)


def user_of_token(value: str) -> User | None:
    """Return the user of a fresh and unused token, or None. Signing in invalidates the token."""
    try:
        pk, stamp = signing.loads(value, salt=_SALT, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return None
    user = get_user_model().objects.filter(pk=pk, is_active=True).first()
    return user if user is not None and _stamp(user) == stamp else None


def _stamp(user: User) -> str:
    """Return a value that changes with each sign-in and each new password."""
    return f"{user.last_login.isoformat() if user.last_login else ''}:{user.password[-12:]}"


@never_cache
def sign_in_with_link(request: HttpRequest, token: str) -> HttpResponseBase:
    """Sign in the user of a valid link."""
    user = user_of_token(token)
    if user is None:
        sentence = _("This sign-in link was used already or is too old. Sign in with your password instead.")
        messages.error(request, sentence)
        return redirect("account_login")
    response: HttpResponseBase = perform_login(request, user, redirect_url="/")
    return response
