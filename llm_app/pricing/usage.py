"""What a user's calls have used: out of the logs, which outlive the sessions they were made in."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Aggregate, Count, QuerySet, Sum
from django.db.models.functions import TruncDate

from llm_app.models import LLMLog
from llm_app.models.log import UNPRICED

TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens")
# The condition of the first one names columns, which the later ones hide behind sums of the same names.
_SUMS: dict[str, Aggregate] = {
    "unpriced_calls": Count("pk", filter=UNPRICED),
    **{name: Sum(name, default=0) for name in TOKENS},
    "cost_usd": Sum("cost_usd"),
    "tasks": Count("task_id", distinct=True),
}


def total_usage(user_id: int) -> dict[str, Any]:
    """Return tokens, `cost_usd` (None where no price was known), the number of unpriced calls, and of tasks."""
    return LLMLog.objects.filter(user_id=user_id).aggregate(**_SUMS)


def usage_by_day(user_id: int, days: int) -> "QuerySet[LLMLog, dict[str, Any]]":
    """The same with its `date`, for those of the last days (in UTC) on which there was a call, oldest first."""
    logs = LLMLog.objects.filter(user_id=user_id, created_at__gte=beginning(days))
    dated = logs.annotate(date=TruncDate("created_at", tzinfo=UTC)).values("date")
    return dated.order_by("date").annotate(**_SUMS)


def usage_by_model(user_id: int, days: int) -> "QuerySet[LLMLog, dict[str, Any]]":
    """The same with its `model` and its number of `calls`, those with the most tokens first."""
    logs = LLMLog.objects.filter(user_id=user_id, created_at__gte=beginning(days)).values("model")
    return logs.annotate(calls=Count("pk"), **_SUMS).order_by("-input_tokens", "model")


def beginning(days: int) -> datetime:
    """When the last days began, in UTC; today is one of them."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1)
