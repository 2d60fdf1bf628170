"""What a user's calls have used, and what is left of each budget that binds them."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from llm_app.budgets import counters, limits
from llm_app.budgets.amounts import Unit
from llm_app.budgets.limits import Scope
from llm_app.budgets.periods import Period
from llm_app.budgets.standing import Standing
from llm_app.pricing import usage
from tasks_app.api.tasks import UsageSerializer

DAYS = 30
NOTHING = dict.fromkeys(usage.TOKENS, 0) | {"cost_usd": None, "tasks": 0}


class UsedSerializer(UsageSerializer):
    """`cost_usd` is null where no price is known."""

    cost_usd = serializers.FloatField(allow_null=True)
    tasks = serializers.IntegerField()


class UsedOnDaySerializer(UsedSerializer):
    date = serializers.DateField()


class BudgetSerializer(serializers.Serializer[Standing]):
    """One limit. `limit` is `spent`, `reserved` by calls under way, and `left` together; all in `unit`.

    `name` is that of the user or the role. A limit per task is shown as it stands before a task begins.
    """

    scope = serializers.ChoiceField([each.value for each in Scope], source="limit.scope")
    name = serializers.CharField(source="limit.name")
    period = serializers.ChoiceField([each.value for each in Period], source="limit.period")
    unit = serializers.ChoiceField([each.value for each in Unit], source="limit.unit")
    limit = serializers.FloatField(source="limit.most")
    spent = serializers.FloatField()
    reserved = serializers.FloatField()
    left = serializers.FloatField()
    renews_at = serializers.DateTimeField(source="limit.renews_at", allow_null=True)


class UsageReportSerializer(serializers.Serializer[Any]):
    """`days` are the last 30, in UTC, oldest first. What was used in a session stays used when it is deleted."""

    total = UsedSerializer()
    days = UsedOnDaySerializer(many=True)
    budgets = BudgetSerializer(many=True)


class Usage(APIView):
    """The tokens and the cost of the user's calls, and what is left."""

    @extend_schema(responses=UsageReportSerializer)
    def get(self, request: Request) -> Response:
        user_id = cast(int, request.user.pk)
        report = {
            "total": usage.total_usage(user_id),
            "days": _each_day(usage.usage_by_day(user_id, DAYS)),
            "budgets": counters.standings(limits.binding_limits(user_id, None)),
        }
        return Response(UsageReportSerializer(report).data)


def _each_day(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Also the days on which nothing was used."""
    used: dict[date, dict[str, Any]] = {row["date"]: row for row in rows}
    today = datetime.now(UTC).date()
    days = (today - timedelta(days=ago) for ago in reversed(range(DAYS)))
    return [used.get(day, {"date": day, **NOTHING}) for day in days]
