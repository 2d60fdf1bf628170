"""The outermost ASGI middleware: client addresses behind proxies, origins of websockets, and rate limits.

Limits apply before a session or token is looked up. Requests that present the same one count together, and an
invented one still counts for its address.
"""

import hashlib
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from channels.security.websocket import OriginValidator
from django.conf import settings
from django.http import parse_cookie
from django.template.loader import render_to_string

from agentsite.addresses import client_network, is_in, without_port
from agentsite.environment import REDIS_URL
from agentsite.rates import MINUTE, Rates
from tasks_app.api.problems import CONTENT_TYPE, Problem

logger = logging.getLogger(__name__)
Scope = dict[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[Any]]
TOO_MANY_STREAMS, FOREIGN_ORIGIN = 4429, 4403  # close codes of a websocket
STREAM_SECONDS = 10  # until the client should try another stream
_FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"daphne-root-path")
_STREAM = re.compile(r"/api/v1/sessions/[^/]+/events/")
_TASK = re.compile(r"/api/v1/tasks/[^/]+/")
_NEVER_LIMITED = ("/healthz", "/readyz")


class ProxyHeadersMiddleware:
    """Middleware that takes client, scheme and host from headers of trusted proxies, and removes these headers."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            scope = _apply_forwarded_headers(scope)
        await self._application(scope, receive, send)


def _apply_forwarded_headers(scope: Scope) -> Scope:
    headers = [header for header in scope["headers"] if header[0] not in _FORWARDED]
    direct = {**scope, "headers": headers, "root_path": ""}  # Daphne takes root_path from a header
    peer = (scope.get("client") or ("", 0))[0]
    if not is_in(peer, settings.TRUSTED_PROXIES):
        return direct
    if prefixes := _values(scope, b"x-forwarded-prefix"):
        _warn_about_prefix(prefixes[-1][:200])
    client, hops = _client(peer, _values(scope, b"x-forwarded-for"))
    if hosts := _values(scope, b"x-forwarded-host"):
        headers = [header for header in headers if header[0] != b"host"]
        direct["headers"] = [*headers, (b"host", _value_at_client(hosts, hops).encode("latin-1"))]
    if schemes := _values(scope, b"x-forwarded-proto"):
        is_secure = _value_at_client(schemes, hops).lower() in ("https", "wss")
        names = ("ws", "wss") if scope["type"] == "websocket" else ("http", "https")
        direct["scheme"] = names[is_secure]
    return {**direct, "client": [client, 0]}


@lru_cache(maxsize=8)
def _warn_about_prefix(prefix: str) -> None:
    """Log a proxy that serves the site below a path, once per path."""
    if prefix.strip("/"):
        logger.warning(
            "a proxy serves this site below the path %r, where its links do not work: serve it under its own host name",
            prefix,
        )


def _values(scope: Scope, name: bytes) -> list[str]:
    """Return the values of a header that each proxy extends, beginning at the client."""
    text = ",".join(value.decode("latin-1") for header, value in scope["headers"] if header == name)
    return [value for part in text.split(",") if (value := part.strip())]


def _client(peer: str, forwarded: list[str]) -> tuple[str, int]:
    """Return the nearest address that is not a trusted proxy, and the number of proxies on the way."""
    client, hops = peer, 0
    for text in reversed(forwarded):
        if not is_in(client, settings.TRUSTED_PROXIES) or not (address := without_port(text)):
            break
        client, hops = address, hops + 1
    return client, max(hops, 1)


def _value_at_client(values: list[str], hops: int) -> str:
    """Return the value set by the trusted proxy nearest to the client. Values before it come from the client."""
    return values[-min(hops, len(values))]


class OriginMiddleware(OriginValidator):
    """Middleware that opens websockets only to pages of this server.

    Others are accepted and closed with a code, so that a page can report the reason: browsers hide why a websocket
    was not accepted.
    """

    def __init__(self, application: Application) -> None:
        origins = (origin.replace("*.", ".") for origin in settings.CSRF_TRUSTED_ORIGINS)
        super().__init__(application, [*settings.ALLOWED_HOSTS, *origins])

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), "")
        if self._is_known(origin):
            await self.application(scope, receive, send)
            return
        logger.warning(
            "refused a websocket: its origin %r is neither in ALLOWED_HOSTS nor in CSRF_TRUSTED_ORIGINS",
            origin[:200],
        )
        await _close(receive, send, FOREIGN_ORIGIN)

    def _is_known(self, origin: str) -> bool:
        try:
            return bool(self.valid_origin(urlsplit(origin) if origin else None))
        except ValueError:  # not an address
            return False


class RateLimitMiddleware:
    """Middleware that limits requests per minute and open streams, per token or session and per address."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._rates = Rates(REDIS_URL)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in _NEVER_LIMITED:
            await self._application(scope, receive, send)
            return
        limits = _limits(scope, settings.REQUESTS_PER_MINUTE)
        counts = await self._rates.count_request(list(limits))
        if not _are_within(counts, limits):
            detail = "Too many requests came from you in this minute. Try again in the next one."
            await _refuse(scope, receive, send, detail, MINUTE - int(time.time()) % MINUTE)
        elif _is_long_lived(scope):
            await self._stream(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Any, send: Any) -> None:
        limits = _limits(scope, settings.STREAMS)
        name, counts = await self._rates.open_stream(list(limits))
        try:
            if _are_within(counts, limits):
                await self._application(scope, receive, send)
            else:
                detail = "Too many streams of yours are open. Close some, or try again when some have ended."
                await _refuse(scope, receive, send, detail, STREAM_SECONDS)
        finally:
            await self._rates.close_stream(name)


def _are_within(counts: Sequence[int], limits: Mapping[str, int]) -> bool:
    return all(count <= limit for count, limit in zip(counts, limits.values(), strict=True))


def _is_long_lived(scope: Scope) -> bool:
    """Return whether the request stays open: a page's websocket, an event stream, or a request that waits."""
    return bool(
        scope["type"] == "websocket"
        or _STREAM.fullmatch(scope["path"])
        or (_TASK.fullmatch(scope["path"]) and "wait" in parse_qs(scope["query_string"].decode("latin-1")))
    )


def _limits(scope: Scope, by_kind: Mapping[str, int]) -> dict[str, int]:
    """Return the keys that a request counts for, with the limit of each."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    cookies = parse_cookie(headers.get(b"cookie", ""))
    credential = headers.get(b"authorization") or cookies.get(settings.SESSION_COOKIE_NAME)
    client = (scope.get("client") or ("", 0))[0]
    limits = {f"address:{client_network(client)}": by_kind["address"]}
    if credential:
        limits[f"token:{hashlib.sha256(credential.encode()).hexdigest()}"] = by_kind["token"]
    return {key: limit for key, limit in limits.items() if limit}


async def _close(receive: Any, send: Any, code: int) -> None:
    """Accept a websocket to close it: browsers report the code only of a closed one."""
    await receive()
    await send({"type": "websocket.accept"})
    await send({"type": "websocket.close", "code": code})


async def _refuse(scope: Scope, receive: Any, send: Any, detail: str, seconds: int) -> None:
    client = (scope.get("client") or ("",))[0]
    logger.warning("refused a request from %s: %s", client, detail)  # not the path: it may hold a token or a newline
    if scope["type"] == "websocket":
        await _close(receive, send, TOO_MANY_STREAMS)
        return
    content_type, body = CONTENT_TYPE, json.dumps(Problem(status=429, detail=detail).body)
    is_page = not scope["path"].startswith("/api/") and (b"hx-request", b"true") not in scope["headers"]
    if is_page:
        content_type = "text/html; charset=utf-8"
        body = render_to_string("later.html", {"htmx": False, "said": detail, "level": "error"})
    headers = [(b"content-type", content_type.encode()), (b"retry-after", str(seconds).encode())]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
