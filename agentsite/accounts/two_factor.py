"""The second factor: codes of an authenticator app, and ten recovery codes that work once each.

allauth does the work. Here is what it leaves to the site: keys are encrypted, guessing is slow, a code works once, and
the log says who has switched it on, off, or tried in vain.
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

from agentsite.accounts.models import User
from agentsite.accounts.tries import CodeTry
from llm_app.encryption import decrypted, encrypted

logger = logging.getLogger(__name__)
_REMEMBERED_SECONDS = 120  # used codes: longer than any is valid


class Adapter(DefaultMFAAdapter):
    """How allauth's second factor treats this site."""

    def encrypt(self, text: str) -> str:
        return encrypted(text)

    def decrypt(self, encrypted_text: str) -> str:
        return decrypted(encrypted_text)

    def get_totp_issuer(self) -> str:
        """What the app on the phone shows. A colon would end it."""
        host = urlsplit(settings.AGENTSITE_URL).netloc or context.request.get_host()
        return f"agentsite {host.partition(':')[0]}"


class _OnceAndSlowly:
    """A form with a code."""

    user: User

    def clean_code(self) -> str:
        """Raises ValidationError, and TooManyTries."""
        attempt = CodeTry(self.user.pk)
        code: str = super().clean_code()  # type: ignore[misc]
        digits = "".join(filter(str.isdecimal, code))  # spaces and dashes are no other code
        if not caches["tries"].add(f"code:{self.user.pk}:{digits}", True, _REMEMBERED_SECONDS):
            raise get_adapter().validation_error("incorrect_code")
        attempt.succeeded()
        return code


class SignInForm(_OnceAndSlowly, AuthenticateForm):
    """After the password."""


class ConfirmForm(_OnceAndSlowly, ReauthenticateForm):
    """Of somebody who is signed in, before what is dangerous."""


def reset(user: User, *, by: str) -> bool:
    """Switches it off for somebody who has lost it; tells whether it was on."""
    count, _ = Authenticator.objects.filter(user=user).delete()
    if count:
        logger.warning("the second factor of %s was reset by %s", user, by)
    return bool(count)


def listen() -> None:
    """From now on the log has what happens."""
    signals.authenticator_added.connect(_note_added)
    signals.authenticator_removed.connect(_note_removed)
    signals.authentication_failed.connect(_note_failed)


def _note_added(*, user: User, authenticator: Authenticator, **_: Any) -> None:
    logger.warning("%s has set up a second factor: %s", user, authenticator.type)


def _note_removed(*, user: User, authenticator: Authenticator, **_: Any) -> None:
    logger.warning("%s has removed a second factor: %s", user, authenticator.type)


def _note_failed(*, user: User, request: Any, **_: Any) -> None:
    logger.warning("a wrong code of the second factor of %s from %s", user, request.META.get("REMOTE_ADDR", ""))
