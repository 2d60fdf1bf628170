"""LLM calls and their exact requests, the usage of a user, and the state of budgets."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from llm_app.budgets import BudgetScope, LimitState, Period, Unit, counters, limits
from llm_app.models import LLMLog
from llm_app.pricing import usage
from tasks_app.access import visible_task
from tasks_app.api.formats import IgnoreAccept, OldestFirst
from tasks_app.api.tasks import AgentVersionSerializer, UsageSerializer
from tasks_app.models import AgentVersion, Session
from tasks_app.replay.sent import sent_request

DAYS = 30
ZERO_USAGE = dict.fromkeys(usage.TOKENS, 0) | {"cost_usd": None, "unpriced_calls": 0, "tasks": 0}


class UsedSerializer(UsageSerializer):
    """`cost_usd` is null where no price is known; it leaves `unpriced_calls` out."""

    cost_usd = serializers.FloatField(allow_null=True)
    unpriced_calls = serializers.IntegerField()
    tasks = serializers.IntegerField()


class UsedOnDaySerializer(UsedSerializer):
    date = serializers.DateField()


class BudgetSerializer(serializers.Serializer[LimitState]):
    """One limit. `limit` is `spent`, `reserved` by calls under way, and `left` together; all in `unit`.

    `name` is that of the user or the role. A limit per task is shown as it is before a task begins. `unpriced_calls`
    are calls of models without a price: a limit in USD does not count them.
    """

    scope = serializers.ChoiceField([choice.value for choice in BudgetScope], source="limit.scope")
    name = serializers.CharField(source="limit.name")
    period = serializers.ChoiceField([choice.value for choice in Period], source="limit.period")
    unit = serializers.ChoiceField([choice.value for choice in Unit], source="limit.unit")
    limit = serializers.FloatField(source="limit.most")
    spent = serializers.FloatField()
    reserved = serializers.FloatField()
    left = serializers.FloatField()
    renews_at = serializers.DateTimeField(source="limit.renews_at", allow_null=True)
    unpriced_calls = serializers.SerializerMethodField()

    def get_unpriced_calls(self, state: LimitState) -> int:
        return counters.unpriced_calls(state.limit)


class UsageReportSerializer(serializers.Serializer[Any]):
    """`days` are the last 30, in UTC, oldest first. What was used in a session stays used when it is deleted."""

    total = UsedSerializer()
    days = UsedOnDaySerializer(many=True)
    budgets = BudgetSerializer(many=True)


class UsageReport(APIView):
    """The tokens and the cost of the user's calls, and what is left."""

    @extend_schema(responses=UsageReportSerializer)
    def get(self, request: Request) -> Response:
        user_id = cast(int, request.user.pk)
        report = {
            "total": usage.total_usage(user_id),
            "days": _each_day(usage.usage_by_day(user_id, DAYS)),
            "budgets": counters.limit_states(limits.limits_for_call(user_id, None)),
        }
        return Response(UsageReportSerializer(report).data)


def _each_day(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last 30 days, oldest first, with zeros for days without use."""
    used: dict[date, dict[str, Any]] = {row["date"]: row for row in rows}
    today = datetime.now(UTC).date()
    days = (today - timedelta(days=ago) for ago in reversed(range(DAYS)))
    return [used.get(day, {"date": day, **ZERO_USAGE}) for day in days]


class LLMCallSerializer(serializers.ModelSerializer[LLMLog]):
    """One attempt. `agent` is the acting agent with its version, null for the agent as it ships and for calls outside
    of the conversation. `cost_usd` is null without a known price. `cut_seq` and `last_seq` bound the entries it saw.
    """

    agent = serializers.SerializerMethodField()
    usage = UsageSerializer(source="*")
    cost_usd = serializers.FloatField(allow_null=True)

    class Meta:
        model = LLMLog
        fields = [
            *(
                "id",
                "purpose",
                "agent",
                "iteration",
                "attempt",
                "model",
                "provider",
                "provider_model",
                "status",
                "error_type",
            ),
            *("finish_reason", "cut_seq", "last_seq", "request_bytes", "request_sha256", "usage", "cost_usd"),
            *("first_delta_ms", "duration_ms", "created_at"),
        ]
        read_only_fields = fields

    @extend_schema_field(AgentVersionSerializer(allow_null=True))
    def get_agent(self, log: LLMLog) -> dict[str, Any] | None:
        versions: dict[int | None, AgentVersion | None] = self.context.setdefault("agent_versions", {None: None})
        if log.agent_version_id not in versions:
            versions[log.agent_version_id] = AgentVersion.objects.filter(pk__in=[log.agent_version_id]).first()
        version = versions[log.agent_version_id]
        return AgentVersionSerializer(version).data if version else None


class LLMCallList(ListAPIView[LLMLog]):
    """Every call to a provider that the task made, failed attempts among them, oldest first."""

    queryset = LLMLog.objects.all()
    serializer_class = LLMCallSerializer
    pagination_class = OldestFirst

    def get_queryset(self) -> QuerySet[LLMLog]:
        return LLMLog.objects.filter(task_id=visible_task(self.request.user, self.kwargs["task_id"]).pk)


class LLMCallRequest(GenericAPIView[Any]):
    """The exact bytes that were sent, rebuilt from the record: redacted as they were then, and by what is secret now.

    `X-Request-Redacted: true` says that something has become secret since; else their SHA-256 is the call's.
    """

    content_negotiation_class = IgnoreAccept

    @extend_schema(operation_id="llm_calls_request", responses={(200, "application/json"): OpenApiTypes.OBJECT})
    def get(self, request: Request, call_id: UUID) -> HttpResponse:
        visible = Session.objects.visible_to(request.user).values("pk")
        log = LLMLog.objects.filter(pk=call_id, session_id__in=visible).first()
        if log is None:
            raise Http404()
        request_sent = sent_request(log)
        headers = {"X-Request-Redacted": "true"} if request_sent.is_redacted else {}
        return HttpResponse(request_sent.body, content_type="application/json", headers=headers)
