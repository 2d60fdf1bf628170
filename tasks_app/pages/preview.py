"""Previews of servers in a session's sandbox: a frame, and a proxy behind it.

The framed page is the agent's work. Its URL holds a short-lived token instead of a cookie. It has an opaque origin and
may request only URLs below its own. The frame keeps it from navigating elsewhere.
"""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import quote
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth import get_user_model
from django.core import signing
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh

from tasks_app.access import Request, may_write, posted, signed_in, visible_session, writable_session
from tasks_app.models import Session
from tasks_app.models.errors import Refusal
from tasks_app.pages.preview_exchange import PortRequest, PortResponse
from tasks_app.pages.responses import done, earlier_submission, refused
from tasks_app.runtime import process
from tasks_app.services import servers
from tools_app.errors import ToolError
from tools_app.sandbox import connect

VALID_SECONDS = 15 * 60  # validity of a token since it was made or renewed
MAX_SECONDS = 24 * 3600  # maximum validity with renewals
RENEWAL_SECONDS = 5 * 60
MAX_OPEN_REQUESTS = 24  # open requests of one session
_SALT = "a preview of a port"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_READING = ("GET", "HEAD", "OPTIONS")
_SAFE_IN_PATHS = "/:@!$&'()*+,;=~-._"
_running: Counter[str] = Counter()


@dataclass(frozen=True, kw_only=True)
class PreviewLink:
    """The user, session and port that a preview token stands for."""

    user: int
    session: str
    port: int

    @property
    def token(self) -> str:
        return signing.dumps([self.user, self.session, self.port], salt=_SALT)

    @classmethod
    def from_token(cls, token: str, max_age: int = VALID_SECONDS) -> "PreviewLink":
        """Return the link of a token.

        Raises: SignatureExpired, and BadSignature for a token that this server has not signed.
        """
        user, session, port = signing.loads(token, salt=_SALT, max_age=max_age)
        return cls(user=user, session=session, port=port)

    @classmethod
    async def from_renewed_token(cls, token: str) -> "PreviewLink":
        """Return the link of a valid or renewed token.

        Raises: SignatureExpired, BadSignature.
        """
        try:
            return cls.from_token(token)
        except signing.SignatureExpired:
            if not await cache.aget(_renewal_key(token)):
                raise
            return cls.from_token(token, MAX_SECONDS)


def _renewal_key(token: str) -> str:
    """Return the cache key of a token's renewal. The token cannot be derived from it."""
    return f"preview:{hashlib.sha256(token.encode()).hexdigest()}"


@signed_in
@require_GET
def show(request: Request, session_id: UUID, port: int, path: str = "") -> HttpResponse:
    """Show the frame with a new token."""
    session = visible_session(request.user, session_id)
    if not 0 < port < 65536 or _leaves_preview(path):
        raise Http404()
    link = PreviewLink(user=request.user.pk, session=str(session.pk), port=port)
    query = f"?{request.META['QUERY_STRING']}" if request.META["QUERY_STRING"] else ""
    token = link.token
    source = reverse("port_proxy", args=[token, ""]) + quote(path, safe=_SAFE_IN_PATHS) + query
    elsewhere = process.other_host(session.held_by)  # a sandbox can only be reached from its own machine
    frame = {"source": source, "token": token, "renewed_each_s": RENEWAL_SECONDS, "elsewhere": elsewhere}
    is_reachable = async_to_sync(_is_reachable)(link)
    if request.htmx:  # the page of a server that does not answer asks whether it does now
        return HttpResponseClientRefresh() if is_reachable else HttpResponse(status=204)
    if not is_reachable and not elsewhere:
        frame["stopped"] = servers.stopped_server(session, port)
        frame |= {"may_write": may_write(request.user, session), "key": uuid4().hex}
    return render(request, "port.html", {"session": session, "port": port, "path": path, **frame})


async def _is_reachable(link: PreviewLink) -> bool:
    try:
        _, writer = await connect(link.session, link.port)
    except (ToolError, OSError):
        return False
    writer.close()
    return True


@signed_in
@require_POST
def start_again(request: Request, session_id: UUID, port: int) -> HttpResponse:
    """Ask the agent to start the server again."""
    session = writable_session(request.user, session_id)
    try:
        with transaction.atomic():
            if earlier_submission(request, str(port)) is None:
                servers.start_again(session, request.user, port)
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    return done(request, f"{session.get_absolute_url()}#end", _("The agent was asked to start it again."))


@signed_in
@require_POST
def renew(request: Request, session_id: UUID, port: int) -> HttpResponse:
    """Renew the frame's token while its page is open and the user can see the session."""
    session, token = visible_session(request.user, session_id), posted(request, "token")
    try:
        link = PreviewLink.from_token(token, MAX_SECONDS)
    except signing.SignatureExpired:
        return HttpResponse(status=204)  # the frame shows that it has expired
    except (signing.BadSignature, ValueError) as error:
        raise Http404() from error
    if link != PreviewLink(user=request.user.pk, session=str(session.pk), port=port):
        raise Http404()
    cache.set(_renewal_key(token), True, VALID_SECONDS)
    return HttpResponse(status=204)


@csrf_exempt  # authorized by the token alone, no cookie is read
async def proxy(request: HttpRequest, token: str, path: str) -> HttpResponseBase:
    """Pass one request on. Access to the session is checked for each request."""
    try:
        link = await PreviewLink.from_renewed_token(token)
    except signing.SignatureExpired:
        return _text_response(request, 410, _("This preview has expired. Reload it."))
    except (signing.BadSignature, ValueError) as error:
        raise Http404() from error
    if _leaves_preview(path):
        raise Http404()
    if request.headers.get("Sec-Fetch-Dest") == "document":  # only the frame keeps a page from navigating elsewhere
        return HttpResponseRedirect(reverse("port", args=[link.session, link.port, *filter(None, [path])]))
    if request.method not in _METHODS:
        return _text_response(request, 405, _("A preview does not pass this method on."))
    await sync_to_async(_authorize)(link, request.method)
    if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
        return _with_headers(request, token, HttpResponse(status=204))
    return await _forward(request, link, token, path)


def _leaves_preview(path: str) -> bool:
    """Return whether a browser would resolve the path above the preview. An encoded slash (`..%2f`) is decoded here."""
    return not {".", ".."}.isdisjoint(path.split("/"))


def _authorize(link: PreviewLink, method: str) -> None:
    """Check that the user can see the session, and can write in it for methods that change things.

    Raises: Http404, PermissionDenied.
    """
    user = get_user_model().objects.filter(pk=link.user, is_active=True).first()
    session = Session.objects.visible_to(user).filter(pk=link.session).first() if user else None
    if session is None:
        raise Http404()
    if method not in _READING and not may_write(user, session):
        raise PermissionDenied(_("You have read-only access to this session."))


async def _forward(request: HttpRequest, link: PreviewLink, token: str, path: str) -> HttpResponseBase:
    query = f"?{request.META['QUERY_STRING']}" if request.META["QUERY_STRING"] else ""
    port_request = PortRequest(
        method=request.method or "GET",
        target=f"/{quote(path, safe=_SAFE_IN_PATHS)}{query}",
        port=link.port,
        prefix=reverse("port_proxy", args=[token, ""]).rstrip("/"),
        headers=request.headers,
        body=request.body,
    )
    if _running[link.session] >= MAX_OPEN_REQUESTS:
        return _text_response(request, 503, _("Too many requests of this preview are open. Try again."))
    open_request = _OpenRequest(link.session)
    try:
        port_response = await PortResponse(port_request, *await connect(link.session, link.port)).begin()
    except ToolError as error:
        open_request.close()
        return _text_response(request, 502, str(error))
    except BaseException:
        open_request.close()
        raise
    open_request.port_response = port_response
    response = StreamingHttpResponse(open_request, status=port_response.status, headers=port_response.headers)
    if "content-type" not in port_response.headers:
        del response["Content-Type"]
    return _with_headers(request, token, response)


class _OpenRequest:
    """One of the limited open requests of a session, held until its response is closed."""

    def __init__(self, session: str) -> None:
        self.port_response: PortResponse | None = None
        self._session, self._is_open = session, True
        _running[session] += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self.port_response is not None
        try:
            async for part in self.port_response:
                yield part
        finally:
            self.close()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            _running.subtract([self._session])
            if not _running[self._session]:
                del _running[self._session]
        if self.port_response is not None:
            self.port_response.close()


def _text_response(request: HttpRequest, status: int, sentence: str) -> HttpResponseBase:
    """Return a text response. It is not logged, as the URL contains the token."""
    response = HttpResponse(sentence, status=status, content_type="text/plain; charset=utf-8")
    response._has_been_logged = True  # type: ignore[attr-defined]
    return _with_headers(request, "", response)


def _with_headers(request: HttpRequest, token: str, response: HttpResponseBase) -> HttpResponseBase:
    """Add headers that give the page an opaque origin, and access only to URLs below its token."""
    preview_url = f"http://{request.get_host()}{reverse('port_proxy', args=[token, ''])}" if token else "'none'"
    sources = f"{preview_url} 'unsafe-inline' 'unsafe-eval' data: blob:" if token else "'none'"
    policy = {
        "sandbox": "allow-scripts allow-forms",
        "default-src": sources,
        "form-action": preview_url,
        "base-uri": "'none'",
        "frame-ancestors": "'self'",
        "webrtc": "'block'",
    }
    headers = {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Frame-Options": "SAMEORIGIN",
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "private, no-store",
        "Access-Control-Allow-Origin": "null",  # the opaque origin of the page, which reads its own responses
        "Access-Control-Allow-Methods": ", ".join(_METHODS),
        "Access-Control-Allow-Headers": "content-type, range, x-requested-with, x-csrftoken, x-csrf-token",
    }
    for name, value in headers.items():
        response[name] = value
    return response
