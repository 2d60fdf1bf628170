"""The Content Security Policy: strict everywhere, looser under /admin/, whose theme evaluates expressions."""

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
