"""The entries of a session's record."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.api.access import visible_session
from tasks_app.api.fields import Seq
from tasks_app.api.pagination import BySeq
from tasks_app.models import ContextEntry, ContextType
from tasks_app.record.entry_json import entry_json
from tasks_app.record.redacted import redact_entries


class ToolCallSerializer(serializers.Serializer[Any]):
    """The arguments are an object, or the text that came where that is none."""

    id = serializers.CharField()
    name = serializers.CharField()
    arguments = serializers.JSONField()


class PictureSerializer(serializers.Serializer[Any]):
    """A picture as models were given it: scaled down, in pixels. `path` is where its file stood in the workspace."""

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
    tool_call_id = serializers.CharField(allow_null=True, help_text="Of a result: the call that it belongs to.")
    images = PictureSerializer(many=True)
    metadata = serializers.DictField(help_text="Of a result: its status, among others.")
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
        return ContextEntry.objects.of(self._session).after(query.validated_data["after"])

    def paginate_queryset(self, queryset: Any) -> Any:
        return redact_entries(self._session, super().paginate_queryset(queryset) or [])

    @extend_schema(parameters=[EntryQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)
