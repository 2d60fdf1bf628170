"""The user's second factor, and the browsers in which the user is signed in."""

import logging
import re
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from tasks_app.access import Request, posted, signed_in
from tasks_app.pages.responses import done

logger = logging.getLogger(__name__)
_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrom", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone|iPad", "iOS"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


def settings_context(request: Request) -> dict[str, Any]:
    """Return the context of the settings page."""
    factors = {row.type: row for row in Authenticator.objects.filter(user=request.user)}
    codes = factors.get(Authenticator.Type.RECOVERY_CODES)
    logins = UserSession.objects.purge_and_list(request.user)
    for login in logins:
        login.browser = browser_of(login.user_agent)
        login.is_this_one = login.session_key == request.session.session_key
    return {
        "totp": factors.get(Authenticator.Type.TOTP),
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else 0,
        "logins": sorted(logins, key=lambda login: (not login.is_this_one, -login.created_at.timestamp())),
    }


def browser_of(user_agent: str) -> str:
    """Return the browser and system that a user agent names, as text."""
    browser = next((name for sign, name in _BROWSERS if re.search(sign, user_agent)), "")
    system = next((name for sign, name in _SYSTEMS if re.search(sign, user_agent)), "")
    if browser and system:
        return _("{browser} on {system}").format(browser=browser, system=system)
    return browser or system or _("A browser")


@signed_in
@require_POST
def end(request: Request) -> HttpResponse:
    """Sign out one browser, or without `login` all other browsers. Open pages there end within a second."""
    others = UserSession.objects.filter(user=request.user).exclude(session_key=request.session.session_key)
    if login := posted(request, "login"):
        others = others.filter(pk=login) if login.isdecimal() else others.none()
    ended = [other.end() for other in others]
    logger.warning("user %s signed out %d other browsers", request.user, len(ended))
    return done(request, f"{reverse('settings')}#sign-in", _("Signed out there."))
