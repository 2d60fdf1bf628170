"""The usage of a user's calls. It is computed from the logs, which outlive sessions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Aggregate, Count, QuerySet, Sum
from django.db.models.functions import TruncDate

from llm_app.models import LLMLog
from llm_app.models.log import UNPRICED

TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "thinking_tokens")
# The first condition uses column names that the later sums replace, so it comes first.
_SUMS: dict[str, Aggregate] = {
    "unpriced_calls": Count("pk", filter=UNPRICED),
    **{name: Sum(name, default=0) for name in TOKENS},
    "cost_usd": Sum("cost_usd"),
    "tasks": Count("task_id", distinct=True),
}


def total_usage(user_id: int) -> dict[str, Any]:
    """Return tokens, `cost_usd` (None without known prices), and the numbers of unpriced calls and of tasks."""
    return LLMLog.objects.filter(user_id=user_id).aggregate(**_SUMS)


def usage_by_day(user_id: int, days: int) -> "QuerySet[LLMLog, dict[str, Any]]":
    """Return the usage of each `date` (in UTC) with calls during the last days, oldest first."""
    logs = LLMLog.objects.filter(user_id=user_id, created_at__gte=beginning(days))
    dated = logs.annotate(date=TruncDate("created_at", tzinfo=UTC)).values("date")
    return dated.order_by("date").annotate(**_SUMS)


def usage_by_model(user_id: int, days: int) -> "QuerySet[LLMLog, dict[str, Any]]":
    """Return the usage of each `model` with its number of `calls`, the highest input first."""
    logs = LLMLog.objects.filter(user_id=user_id, created_at__gte=beginning(days)).values("model")
    return logs.annotate(calls=Count("pk"), **_SUMS).order_by("-input_tokens", "model")


def beginning(days: int) -> datetime:
    """Return the begin of the last days in UTC. Today counts as one of them."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=days - 1)
