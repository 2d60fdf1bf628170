"""A session's events as they happen: server-sent events (WHATWG HTML, 9.2)."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from channels.db import database_sync_to_async
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.views import APIView

from tasks_app.api.access import visible_session
from tasks_app.api.authentication import require_admitted
from tasks_app.api.fields import Seq
from tasks_app.api.negotiation import AsItIs
from tasks_app.live.signed_in import SignedOut
from tasks_app.live.subscription import Event, Follower, SessionGone
from tasks_app.models import ContextEntry
from tasks_app.record.entry_json import entry_json

QUIET_SECONDS = 15.0  # then a comment: proxies end connections that say nothing
CHECK_SECONDS = 5.0  # how long a revoked token still hears; that the session is visible, the follower checks
COMMENT = b":\n\n"
RESUME = "Last-Event-ID"


class EventQuery(serializers.Serializer[Any]):
    after = Seq(help_text=f"Only entries with a higher seq. {RESUME} goes before it.")


class Events(APIView):
    """Events: `entry` (its id is its seq), `delta`, `reset`, `state`, `progress` and `inbox`; data is JSON.

    Only entries have an id, so that Last-Event-ID resumes with nothing missing. The stream stays open after done.
    """

    content_negotiation_class = AsItIs
    http_method_names = ("get", "options")  # an endless answer has no HEAD

    @extend_schema(
        operation_id="sessions_events_follow",
        parameters=[EventQuery, OpenApiParameter(RESUME, int, OpenApiParameter.HEADER)],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request, session_id: UUID) -> StreamingHttpResponse:
        session = visible_session(request.user, session_id)
        query = EventQuery(data={"after": request.headers.get(RESUME) or request.query_params.get("after", 0)})
        query.is_valid(raise_exception=True)
        follower = Follower(request.user, session.pk, after=query.validated_data["after"])
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        body = stream(follower, database_sync_to_async(partial(require_admitted, request)))
        return StreamingHttpResponse(body, content_type="text/event-stream", headers=headers)


async def stream(follower: Follower, check: Callable[[], Awaitable[None]]) -> AsyncIterator[bytes]:
    """The follower's events on the wire, until the client goes, the session is gone, or `check` raises."""
    yield COMMENT  # the headers go out with the first bytes
    checked = time.monotonic()
    async with aclosing(follower.events()) as events, aclosing(_with_silences(events)) as paced:
        with suppress(SessionGone, SignedOut, AuthenticationFailed):
            async for event in paced:
                if time.monotonic() - checked > CHECK_SECONDS:
                    await check()
                    checked = time.monotonic()
                yield COMMENT if event is None else _message(event)


async def _with_silences(events: AsyncGenerator[Event]) -> AsyncGenerator[Event | None]:
    """The events, and None after each QUIET_SECONDS without one."""
    while True:
        coming = asyncio.ensure_future(anext(events))
        try:
            while not coming.done():
                await asyncio.wait({coming}, timeout=QUIET_SECONDS)
                if not coming.done():
                    yield None
            yield coming.result()
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError, SessionGone):
                await coming


def _message(event: Event) -> bytes:
    if isinstance(event, ContextEntry):
        return b"id: %d\nevent: entry\ndata: %s\n\n" % (event.seq, orjson.dumps(entry_json(event)))
    data = {name: value for name, value in event.items() if name != "type"}
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), orjson.dumps(data))
