"""The LLM calls of a task, and the very request of each."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request

from llm_app.models import LLMLog
from tasks_app.api.access import visible_task
from tasks_app.api.negotiation import AsItIs
from tasks_app.api.pagination import OldestFirst
from tasks_app.api.tasks import UsageSerializer
from tasks_app.models import Session
from tasks_app.replay.sent import sent


class LLMCallSerializer(serializers.ModelSerializer[LLMLog]):
    """One attempt. `cost_usd` is null where no price is known; `cut_seq` and `last_seq` say which entries it saw."""

    usage = UsageSerializer(source="*")
    cost_usd = serializers.FloatField(allow_null=True)

    class Meta:
        model = LLMLog
        fields = [
            *("id", "purpose", "iteration", "attempt", "model", "provider", "provider_model", "status", "error_type"),
            *("finish_reason", "cut_seq", "last_seq", "request_bytes", "request_sha256", "usage", "cost_usd"),
            *("first_delta_ms", "duration_ms", "created_at"),
        ]
        read_only_fields = fields


class LLMCallList(ListAPIView[LLMLog]):
    """Every call to a provider that the task made, failed attempts among them, oldest first."""

    queryset = LLMLog.objects.all()
    serializer_class = LLMCallSerializer
    pagination_class = OldestFirst

    def get_queryset(self) -> QuerySet[LLMLog]:
        return LLMLog.objects.filter(task_id=visible_task(self.request.user, self.kwargs["task_id"]).pk)


class LLMCallRequest(GenericAPIView[Any]):
    """The very bytes that were sent, rebuilt from the record: redacted as they were then, and by what is secret now.

    `X-Request-Redacted: true` says that something has become secret since; else their SHA-256 is the call's.
    """

    content_negotiation_class = AsItIs

    @extend_schema(operation_id="llm_calls_request", responses={(200, "application/json"): OpenApiTypes.OBJECT})
    def get(self, request: Request, call_id: UUID) -> HttpResponse:
        visible = Session.objects.visible_to(request.user).values("pk")
        log = LLMLog.objects.filter(pk=call_id, session_id__in=visible).first()
        if log is None:
            raise Http404()
        found = sent(log)
        headers = {"X-Request-Redacted": "true"} if found.is_redacted else {}
        return HttpResponse(found.body, content_type="application/json", headers=headers)
