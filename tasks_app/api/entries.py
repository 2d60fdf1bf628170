"""The entries of a session's record, in pages and as server-sent events (WHATWG HTML)."""

from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any
from uuid import UUID

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
from tasks_app.api.authentication import credential_of
from tasks_app.api.formats import BySeq, IgnoreAccept, Seq, validated_query
from tasks_app.hub.snapshot import SessionGone
from tasks_app.hub.subscriber import EventSubscriber
from tasks_app.models import ContextEntry, ContextType
from tasks_app.record import redact_entries
from tasks_app.record.entry_json import entry_json
from tasks_app.runtime import broadcast

QUIET_SECONDS = 15.0  # after this silence a comment is sent, because proxies close idle connections
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

    def get_queryset(self) -> Any:
        self._session = visible_session(self.request.user, self.kwargs["session_id"])
        entries = ContextEntry.objects.in_session(self._session).after(
            validated_query(EntryQuery, self.request)["after"]
        )
        return entries.defer("session", "hash", "hash_key")  # columns that the JSON does not have

    def paginate_queryset(self, queryset: Any) -> Any:
        return redact_entries(self._session, super().paginate_queryset(queryset) or [])

    @extend_schema(parameters=[EntryQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)


class EventQuery(serializers.Serializer[Any]):
    after = Seq(help_text=f"Only entries with a higher seq. {RESUME} goes before it.")
    until = serializers.ChoiceField(["done"], required=False, help_text="The stream ends with the newest task.")


class Events(APIView):
    """Events: `entry` (its id is its seq), `delta`, `reset`, `state`, `inbox`, `title` and `plan`; data is JSON.

    `plan` follows the entry that changed the plan: `{task, steps, added, removed, changed: [{title, from, to}]}`.
    Only entries have an id, so that Last-Event-ID resumes with nothing missing. The stream stays open after done. With
    `until=done` its last event is the `state` in which the newest task has ended.
    """

    content_negotiation_class = IgnoreAccept
    http_method_names = ("get", "options")  # HEAD would never end

    @extend_schema(
        operation_id="sessions_events_follow",
        parameters=[EventQuery, OpenApiParameter(RESUME, int, OpenApiParameter.HEADER)],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request, session_id: UUID) -> StreamingHttpResponse:
        session = visible_session(request.user, session_id)
        asked = request.query_params.dict()
        query = EventQuery(data={**asked, "after": request.headers.get(RESUME) or asked.get("after", 0)})
        query.is_valid(raise_exception=True)
        credential = credential_of(request)
        subscriber = EventSubscriber(request.user, session.pk, query.validated_data["after"], credential)
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        events = stream(subscriber, until_done="until" in query.validated_data)
        return StreamingHttpResponse(events, content_type="text/event-stream", headers=headers)


async def stream(subscriber: EventSubscriber, *, until_done: bool = False) -> AsyncIterator[bytes]:
    """Yield the subscriber's events as bytes until the client disconnects or loses its access.

    The stream also ends when the session is deleted or Redis is unreachable. EventSource clients reconnect.
    """
    yield COMMENT  # headers are sent with the first bytes
    async with aclosing(subscriber.messages(QUIET_SECONDS)) as batches:
        with suppress(SessionGone, SignedOut, AuthenticationFailed, *broadcast.unreachable()):
            async for batch in batches:
                yield b"".join(batch) or COMMENT
                if until_done and subscriber.end_event in batch:
                    return
