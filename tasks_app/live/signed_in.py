"""Whether a page that stays open still belongs to somebody who is signed in."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest


class SignedOut(Exception):
    """The page's login has ended."""


def require_signed_in(scope: Any) -> None:
    """Asks the database anew: signing out, a new password and a closed account end it. Raises SignedOut."""
    request: Any = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(scope["session"].session_key)
    user = auth.get_user(request)
    if not user.is_authenticated or user.pk != scope["user"].pk:
        raise SignedOut()
