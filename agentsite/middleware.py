"""The Content Security Policy: strict everywhere, looser under /admin/, whose theme evaluates expressions.

And what anybody may write into the log by a request: a line, not a traceback.
"""

import logging

from csp.middleware import CSPMiddleware, PolicyParts
from django.http import HttpRequest, HttpResponseBase

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


class OneLine(logging.Filter):
    """For messages that say it all: the traceback of a wrong Host header is that of our own middleware."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True
