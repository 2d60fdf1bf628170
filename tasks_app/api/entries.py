"""The entries of a session's record: in pages, and as server-sent events while they are appended (WHATWG HTML)."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from channels.db import database_sync_to_async
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app.access import SignedOut, visible_session
from tasks_app.api.authentication import require_admitted
from tasks_app.api.formats import AsItIs, BySeq, Seq
from tasks_app.live.subscription import Event, Follower, SessionGone
from tasks_app.models import ContextEntry, ContextType
from tasks_app.record import redact_entries
from tasks_app.record.entry_json import entry_json, plan_event

QUIET_SECONDS = 15.0  # then a comment: proxies end connections that say nothing
CHECK_SECONDS = 5.0  # how long a revoked token still hears; that the session is visible, the follower checks
COMMENT = b":\n\n"
RESUME = "Last-Event-ID"


class ToolCallSerializer(serializers.Serializer[Any]):
    """The arguments are an object, or the text that came where that is none."""

    id = serializers.CharField()
    name = serializers.CharField()
    arguments = serializers.JSONField()


class PictureSerializer(serializers.Serializer[Any]):
    """A picture as models got it: scaled down, in pixels. `path` is where its file was in the workspace."""

    sha256 = serializers.CharField()
    media_type = serializers.CharField()
    path = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()


class EntrySerializer(serializers.Serializer[ContextEntry]):
    seq = serializers.IntegerField()
    context_type = serializers.ChoiceField(ContextType.choices)
    in_context = serializers.BooleanField(help_text="Whether the model sees it.")
    role = serializers.ChoiceField(["user", "assistant", "tool", "system"])
    content = serializers.CharField()
    thinking = serializers.CharField()
    tool_call = ToolCallSerializer(allow_null=True)
    tool_call_id = serializers.CharField(allow_null=True, help_text="For a result: the call that it belongs to.")
    images = PictureSerializer(many=True)
    metadata = serializers.DictField(help_text="For a result: its status, among other things.")
    task = serializers.UUIDField()
    created_at = serializers.DateTimeField()

    def to_representation(self, entry: ContextEntry) -> dict[str, Any]:
        return entry_json(entry)


class EntryQuery(serializers.Serializer[Any]):
    after = Seq(help_text="Only entries with a higher seq.")


class EntryList(ListAPIView[ContextEntry]):
    """The record in order: what the model saw, and what only people saw."""

    queryset = ContextEntry.objects.all()
    serializer_class = EntrySerializer
    pagination_class = BySeq

    def get_queryset(self) -> QuerySet[ContextEntry]:
        self._session = visible_session(self.request.user, self.kwargs["session_id"])
        query = EntryQuery(data=self.request.query_params)
        query.is_valid(raise_exception=True)
        return ContextEntry.objects.in_session(self._session).after(query.validated_data["after"])

    def paginate_queryset(self, queryset: Any) -> Any:
        return redact_entries(self._session, super().paginate_queryset(queryset) or [])

    @extend_schema(parameters=[EntryQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class EventQuery(serializers.Serializer[Any]):
    after = Seq(help_text=f"Only entries with a higher seq. {RESUME} goes before it.")


class Events(APIView):
    """Events: `entry` (its id is its seq), `delta`, `reset`, `state`, `inbox` and `plan`; data is JSON.

    `plan` follows the entry that changed the plan: `{task, steps, added, removed, changed: [{title, from, to}]}`.
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
        appended = b"id: %d\nevent: entry\ndata: %s\n\n" % (event.seq, orjson.dumps(entry_json(event)))
        plan = plan_event(event)
        return appended + b"event: plan\ndata: %s\n\n" % orjson.dumps(plan) if plan else appended
    data = {name: value for name, value in event.items() if name != "type"}
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), orjson.dumps(data))
