"""The second factor: codes of an authenticator app, and ten recovery codes that work once each.

allauth implements it. This module encrypts the keys, limits attempts, accepts each code once, and logs changes and
wrong codes.
"""

import logging
from typing import Any
from urllib.parse import urlsplit

from allauth.core import context
from allauth.mfa import signals
from allauth.mfa.adapter import DefaultMFAAdapter, get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.cache import caches

from agentsite.accounts.login_limits import CodeAttempt
from agentsite.accounts.models import User
from llm_app.encryption import decrypted, encrypted

logger = logging.getLogger(__name__)
_REMEMBERED_SECONDS = 120  # for used codes: longer than a code is valid


class TwoFactorAdapter(DefaultMFAAdapter):
    """The adapter of allauth's second factor."""

    def encrypt(self, text: str) -> str:
        return encrypted(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypted(encrypted_text)

    def get_totp_issuer(self) -> str:
        """Return the name that the authenticator app shows. It ends at a colon, so the port is left out."""
        host = urlsplit(settings.AGENTSITE_URL).netloc or context.request.get_host()
        return f"agentsite {host.partition(':')[0]}"


class _LimitedCodeMixin:
    """A mixin for forms with a code."""

    user: User

    def clean_code(self) -> str:
        """Check the code, which is accepted once.

        Raises: ValidationError for a wrong or used code; TooManyAttempts.
        """
        attempt = CodeAttempt(self.user.pk)
        code: str = super().clean_code()  # type: ignore[misc]
        digits = "".join(filter(str.isdecimal, code))  # with spaces or dashes it is the same code
        if not caches["tries"].add(f"code:{self.user.pk}:{digits}", True, _REMEMBERED_SECONDS):
            raise get_adapter().validation_error("incorrect_code")
        attempt.succeeded()
        return code


class SignInForm(_LimitedCodeMixin, AuthenticateForm):
    """The form that follows the password."""


class ConfirmForm(_LimitedCodeMixin, ReauthenticateForm):
    """The form that asks a signed-in user before a dangerous change."""


def reset(user: User, *, by: str) -> bool:
    """Remove the second factor of a user who has lost it. Return whether there was one."""
    count, _ = Authenticator.objects.filter(user=user).delete()
    if count:
        logger.warning("the second factor of %s was reset by %s", user, by)
    return bool(count)


def connect_log() -> None:
    """Log changes of second factors and wrong codes."""
    signals.authenticator_added.connect(_log_added)
    signals.authenticator_removed.connect(_log_removed)
    signals.authentication_failed.connect(_log_failed)


def _log_added(*, user: User, authenticator: Authenticator, **_: Any) -> None:
    logger.warning("%s has set up a second factor: %s", user, authenticator.type)


def _log_removed(*, user: User, authenticator: Authenticator, **_: Any) -> None:
    logger.warning("%s has removed a second factor: %s", user, authenticator.type)


def _log_failed(*, user: User, request: Any, **_: Any) -> None:
    logger.warning("wrong code for the second factor of %s, from %s", user, request.META.get("REMOTE_ADDR", ""))
