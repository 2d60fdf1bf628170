"""Headers that the site adds to each response, and the ids in its log of requests.

The Content Security Policy is strict everywhere, but looser under /admin/, whose theme evaluates expressions, and
for the styles of /api/docs/. A page that cannot be served now is answered with the time to try again.
"""

import logging
import zoneinfo

from csp.constants import HEADER as CSP_HEADER
from csp.utils import build_policy
from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin
from django.views.defaults import page_not_found

from agentsite.accounts.tries import TooManyTries
from tasks_app.api.problems import BUSY, BUSY_SECONDS, is_of_gone
from tasks_app.runtime.broadcast import drop_broken_connections

logger = logging.getLogger(__name__)

ADMIN_POLICY = {
    "default-src": ["'self'"],
    "script-src": ["'self'", "'unsafe-eval'", "'unsafe-inline'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}

DOCS_POLICY = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'none'"],
}


class ContentSecurityPolicy(MiddlewareMixin):
    """Where nothing else was said, and not on the pages on which Django explains a fault to developers."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not (settings.DEBUG and response.status_code in (404, 500)):
            response.headers.setdefault(CSP_HEADER, _policy_of(request.path_info))
        return response


def _policy_of(path: str) -> str:
    if path.startswith("/admin/"):
        return _ADMIN
    return _DOCS if path.startswith("/api/docs/") else _EVERYWHERE_ELSE


_ADMIN, _DOCS, _EVERYWHERE_ELSE = map(build_policy, (ADMIN_POLICY, DOCS_POLICY, None))  # None: that of the settings


class SecureCookies(MiddlewareMixin):
    """What was set over https goes back over https only. Behind a proxy, the request says which it was."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response


class TimeAndLanguage(MiddlewareMixin):
    """Pages have times and days in the zone of the browser, which the page's script names in a cookie; and the language
    of the person's settings, or the browser's. Programs and the administration have English.
    """

    def process_request(self, request: HttpRequest) -> None:
        try:
            timezone.activate(zoneinfo.ZoneInfo(request.COOKIES["timezone"]))
        except (KeyError, ValueError, OSError):  # none was named, or none of that name is known
            timezone.deactivate()
        if not request.path_info.startswith(_IN_ENGLISH):
            translation.activate(_chosen_language(request) or translation.get_language_from_request(request))

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not request.path_info.startswith(_IN_ENGLISH):
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", translation.get_language())
            translation.deactivate()
        return response


_IN_ENGLISH = ("/api/", "/admin/", "/healthz", "/readyz", "/metrics")


def _chosen_language(request: HttpRequest) -> str:
    """Every page asks who is signed in anyway. Where the database is busy, it is the page that says so."""
    try:
        return str(getattr(request.user, "language", ""))
    except (OperationalError, InterfaceError):
        return ""


class TryAgainLater(MiddlewareMixin):
    """Where a page cannot be served now: a sentence, and how long to wait, as REST says it.

    What is deleted while somebody is about to change it is not there, as a moment later.
    """

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case OperationalError() | InterfaceError():
                logger.warning("a page was not served: %s", exception)
                drop_broken_connections()
                return _later(request, 503, BUSY, BUSY_SECONDS)
            case TooManyTries():
                return _later(request, 429, str(exception), exception.seconds)
            case _ if is_of_gone(exception):
                return page_not_found(request, exception)
        return None


def _later(request: HttpRequest, status: int, said: str, seconds: int) -> HttpResponse:
    """Rendered without the request, which would ask the database who it is."""
    context = {"htmx": bool(getattr(request, "htmx", False)), "said": said, "level": "error"}
    page = render_to_string("later.html", context)
    return HttpResponse(page, status=status, headers={"Retry-After": str(seconds)})
