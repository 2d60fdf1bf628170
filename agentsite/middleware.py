"""Middleware for response headers, cookies, time zone and language, and for pages that cannot be served now.

The Content Security Policy is strict, except under /admin/, whose theme evaluates expressions, and for the styles of
/api/docs/.
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

from agentsite.accounts.login_limits import TooManyAttempts
from tasks_app.api.problems import BUSY, BUSY_SECONDS, is_target_deleted
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


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Middleware that adds the policy to responses without one, except to Django's debug pages."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not (settings.DEBUG and response.status_code in (404, 500)):
            if request.path_info.startswith("/admin/"):
                policy = _ADMIN
            elif request.path_info.startswith("/api/docs/"):
                policy = _DOCS
            else:
                policy = _STRICT
            response.headers.setdefault(CSP_HEADER, policy)
        return response


_ADMIN, _DOCS, _STRICT = map(build_policy, (ADMIN_POLICY, DOCS_POLICY, None))  # None: the settings' policy


class SecureCookiesMiddleware(MiddlewareMixin):
    """Middleware that marks the cookies of https responses as secure, also behind a trusted proxy."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response


class TimeZoneAndLanguageMiddleware(MiddlewareMixin):
    """Middleware that activates the time zone and the language of a page.

    The zone is the browser's, which the page's script stores in a cookie. The language is that of the user's
    settings, or the browser's. The API and the admin are in English.
    """

    def process_request(self, request: HttpRequest) -> None:
        try:
            timezone.activate(zoneinfo.ZoneInfo(request.COOKIES["timezone"]))
        except (KeyError, ValueError, OSError):  # no zone, or an unknown one
            timezone.deactivate()
        if not request.path_info.startswith(_IN_ENGLISH):
            translation.activate(_user_language(request) or translation.get_language_from_request(request))

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not request.path_info.startswith(_IN_ENGLISH):
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", translation.get_language())
            translation.deactivate()
        return response


_IN_ENGLISH = ("/api/", "/admin/", "/healthz", "/readyz", "/metrics")


def _user_language(request: HttpRequest) -> str:
    """Return the language of the user's settings, or ''. A busy database is reported by the page itself."""
    try:
        return str(getattr(request.user, "language", ""))
    except (OperationalError, InterfaceError):
        return ""


class RetryLaterMiddleware(MiddlewareMixin):
    """Middleware that answers exceptions which pass: one sentence, and the seconds to wait, as in the REST API.

    A row that is deleted while a request changes it yields 404, as it would a moment later.
    """

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case OperationalError() | InterfaceError():
                logger.warning("could not serve a page: %s", exception)
                drop_broken_connections()
                return _retry_page(request, 503, BUSY, BUSY_SECONDS)
            case TooManyAttempts():
                return _retry_page(request, 429, str(exception), exception.seconds)
            case _ if is_target_deleted(exception):
                return page_not_found(request, exception)
        return None


def _retry_page(request: HttpRequest, status: int, sentence: str, seconds: int) -> HttpResponse:
    """Return the page, rendered without the request, which would query the database for the user."""
    context = {"htmx": bool(getattr(request, "htmx", False)), "said": sentence, "level": "error"}
    page = render_to_string("later.html", context)
    return HttpResponse(page, status=status, headers={"Retry-After": str(seconds)})
