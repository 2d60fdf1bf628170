"""The addresses of this server: links from outside, and requests that are refused for their address."""

import logging
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.middleware import csrf
from django.utils.translation import gettext as _

logger = logging.getLogger(__name__)
_ORIGIN_REASONS = tuple(reason.partition("%s")[0] for reason in (csrf.REASON_BAD_ORIGIN, csrf.REASON_BAD_REFERER))


def public_address(request: Any, path: str) -> str:
    """Return the full address of a path for links from outside, below AGENTSITE_URL if it is set."""
    return f"{settings.AGENTSITE_URL}{path}" if settings.AGENTSITE_URL else str(request.build_absolute_uri(path))


def host_sentence(request: HttpRequest) -> str:
    """Return advice about a request under an unknown host name."""
    host = str(request.META.get("HTTP_HOST", ""))
    return _(
        "This server does not answer under the name “{host}”. If it should, its operator adds the name to "
        "ALLOWED_HOSTS and restarts it."
    ).format(host=(split_domain_port(host)[0] or host)[:200])


def csrf_sentence(request: HttpRequest, reason: str) -> str:
    """Return advice about a form that Django refused for its origin or cookie, or "" for other reasons."""
    if is_origin_failure(reason):
        return _origin_sentence(request)
    if reason == csrf.REASON_NO_CSRF_COOKIE:
        return _cookie_sentence(request)
    return ""


def is_origin_failure(reason: str) -> bool:
    """Return whether Django refused a form because of its origin."""
    return reason.startswith(_ORIGIN_REASONS)


def _origin_sentence(request: HttpRequest) -> str:
    origin = _origin(request)
    if origin == "null":
        return _("Nothing was sent: the browser did not say which page this came from. Reload the page and try again.")
    if is_behind_untrusted_proxy(request):
        return _(
            "Nothing was sent: your browser uses https, but the proxy before this server is not trusted to say so. "
            "Its operator adds the proxy's address to TRUSTED_PROXIES, or {origin} to CSRF_TRUSTED_ORIGINS, and "
            "restarts it."
        ).format(origin=origin)
    return _(
        "Nothing was sent: this came from a page at {origin}, which is not an address of this server. If it is one, "
        "its operator adds it to CSRF_TRUSTED_ORIGINS, or makes the proxy pass the header Host on, and restarts it."
    ).format(origin=origin)


def _cookie_sentence(request: HttpRequest) -> str:
    if settings.CSRF_COOKIE_SECURE and not request.is_secure():
        return _(
            "Nothing was sent: the cookies of this server are for https only, as CSRF_TRUSTED_ORIGINS names an https "
            "address, and this page came over http. Open it with https://, or let its operator add the proxy to "
            "TRUSTED_PROXIES."
        )
    return _("Nothing was sent: your browser sent no cookie. Allow cookies for this site, reload it and try again.")


def log_untrusted_proxy(request: HttpRequest) -> None:
    """Log the address of a proxy that is not trusted to end https."""
    if is_behind_untrusted_proxy(request):
        address = request.META.get("REMOTE_ADDR", "")
        logger.warning("https ended before %s, which is not in TRUSTED_PROXIES. If it is your proxy, add it", address)


def is_behind_untrusted_proxy(request: HttpRequest) -> bool:
    """Return whether the browser's page came over https, and this request from the same host over plain http."""
    origin = urlsplit(_origin(request))
    try:
        host = request.get_host()
    except DisallowedHost:
        return False
    return origin.scheme == "https" and not request.is_secure() and origin.netloc.lower() == host.lower()


def _origin(request: HttpRequest) -> str:
    """Return the origin that the browser names, up to 200 characters."""
    if origin := request.META.get("HTTP_ORIGIN", ""):
        return str(origin)[:200]
    referer = urlsplit(request.META.get("HTTP_REFERER", ""))
    return f"{referer.scheme}://{referer.netloc}"[:200]
