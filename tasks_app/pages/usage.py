"""What my calls used, by day, and what is left of each budget."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from llm_app.budgets import counters, limits
from llm_app.pricing import usage
from tasks_app.access import Request, signed_in

DAYS = 30


@signed_in
def show(request: Request) -> HttpResponse:
    """Days in UTC, as budgets count them, newest first."""
    days = list(usage.usage_by_day(request.user.pk, DAYS))[::-1]
    for day in days:
        day["tokens"] = day["input_tokens"] + day["output_tokens"]
    context: dict[str, Any] = {
        "days": days,
        "total": usage.total_usage(request.user.pk),
        "most": max((day["tokens"] for day in days), default=0),
        "span": DAYS,
        "standings": counters.standings(limits.binding_limits(request.user.pk, None)),
    }
    return render(request, "usage.html", context)
