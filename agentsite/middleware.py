"""What the site adds to each response and to the log of requests.

The Content Security Policy: strict everywhere, looser under /admin/, whose theme evaluates expressions. And an answer
that says when to try again, where a page cannot be served now.
"""

import logging

from csp.middleware import CSPMiddleware, PolicyParts
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from agentsite.accounts.tries import TooManyTries
from tasks_app.api.problems import BUSY, BUSY_SECONDS

logger = logging.getLogger(__name__)

ADMIN_POLICY = {
    "default-src": ["'self'"],
    "script-src": ["'self'", "'unsafe-eval'", "'unsafe-inline'"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
}


class ContentSecurityPolicy(CSPMiddleware):
    def get_policy_parts(
        self, request: HttpRequest, response: HttpResponseBase, report_only: bool = False
    ) -> PolicyParts:
        parts = super().get_policy_parts(request, response, report_only)
        if request.path_info.startswith(("/admin/", "/api/docs/")):
            parts.config = ADMIN_POLICY
        return parts


class TryAgainLater(MiddlewareMixin):
    """Where a page cannot be served now: a sentence, and how long to wait, as REST says it."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case OperationalError():
                logger.warning("a page was not served: %s", exception)
                return _later(request, 503, BUSY, BUSY_SECONDS)
            case TooManyTries():
                return _later(request, 429, str(exception), exception.seconds)
        return None


def _later(request: HttpRequest, status: int, said: str, seconds: int) -> HttpResponse:
    """Rendered without the request, which would ask the database who it is."""
    context = {"htmx": bool(getattr(request, "htmx", False)), "said": said, "level": "error"}
    page = render_to_string("later.html", context)
    return HttpResponse(page, status=status, headers={"Retry-After": str(seconds)})
