"""The ASGI application: pages and REST by Django, live updates of sessions by Channels.

Django would give each request its own thread and database connections, and hop to that thread for every middleware.
Here threads and their connections are reused, and a request takes one hop.
"""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")

import django

django.setup(set_prefix=False)

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import lru_cache
from typing import IO, Any

from asgiref.sync import SyncToAsync, iscoroutinefunction
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.core.signals import request_started
from django.db import close_old_connections, connection
from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.urls import resolve, set_script_prefix

from agentsite.edge import OriginMiddleware, ProxyHeadersMiddleware, RateLimitMiddleware
from tasks_app.api.metrics import WEBSOCKETS
from tasks_app.hub.consumer import websocket_urlpatterns

MAX_THREADS = 32  # concurrent requests; as many as PostgreSQL's pool has connections


class Handler(ASGIHandler):
    """Django's handler for static files and coroutine views. All other requests run in a thread, with middleware."""

    def __init__(self) -> None:
        super().__init__()
        self._sync_handler = BaseHandler()
        self._sync_handler.load_middleware()
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="request")

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        if _runs_on_event_loop(scope["path"]):
            await super().handle(scope, receive, send)
            return
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with closing(body):
            set_script_prefix(get_script_prefix(scope))
            response = await self._run_in_thread(self._respond, scope, body)
            if change := getattr(response, "change", None):
                try:
                    await _until_disconnect(change(), receive)
                except RequestAborted:
                    return
                # The second request checks access again.
                response = await self._run_in_thread(self._respond, {**scope, "query_string": b""}, body)
            if response.streaming:
                await self._stream(response, receive, send)
            else:
                await self.send_response(response, send)

    def _respond(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """Send `request_started` and return the response, closed unless it streams: `_stream` closes it then."""
        connection.is_patient = False  # type: ignore[attr-defined]  # of this thread: a client is waiting
        request_started.send(sender=self.__class__, scope=scope)
        request: HttpRequest | None
        request, response = self.create_request(scope, body)
        if request is not None:
            response = self._sync_handler.get_response(request)
        assert response is not None
        response._handler_class = self.__class__  # type: ignore[attr-defined]  # the sender of request_finished
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if response.streaming:
            close_old_connections()
        else:
            response.close()
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Send a streaming response until it ends or the client disconnects."""
        try:
            with suppress(RequestAborted):
                await _until_disconnect(self.send_response(response, send), receive)
        finally:
            await self._run_in_thread(response.close)

    async def _run_in_thread(self, work: Any, *arguments: Any) -> Any:
        return await SyncToAsync(work, thread_sensitive=False, executor=self._threads)(*arguments)


async def _until_disconnect(work: Coroutine[Any, Any, None], receive: Any) -> None:
    """Run the work until it is done.

    Raises: RequestAborted if the client disconnects first.
    """
    task, disconnect = asyncio.ensure_future(work), asyncio.ensure_future(receive())
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        is_disconnected = not task.done()
    finally:
        task.cancel()
        disconnect.cancel()
        results = await asyncio.gather(task, disconnect, return_exceptions=True)
    if isinstance(results[0], Exception):
        raise results[0]
    if is_disconnected:
        raise RequestAborted


@lru_cache(maxsize=512)
def _runs_on_event_loop(path: str) -> bool:
    """Return whether a static file or a coroutine view serves the path. Cached, as no route changes at run time."""
    try:
        return path.startswith(settings.STATIC_URL) or iscoroutinefunction(resolve(path).func)
    except Http404:
        return False


http_application = Handler()
_websocket_application = OriginMiddleware(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))


async def _counted_websocket(scope: Any, receive: Any, send: Any) -> None:
    with WEBSOCKETS.track_inprogress():
        await _websocket_application(scope, receive, send)


application = ProxyHeadersMiddleware(
    RateLimitMiddleware(ProtocolTypeRouter({"http": http_application, "websocket": _counted_websocket}))
)
