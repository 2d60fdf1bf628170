"""Sizes, times, amounts and budgets, as people write them."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format

from llm_app.budgets import Limit, Scope, Standing, Unit, counters, limits
from tasks_app.models import Task
from tools_app.files import in_units

register = template.Library()


@register.filter
def size(value: int) -> str:
    return in_units(value)


@register.filter
def duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


@register.filter
def count(value: int | None) -> str:
    """Tokens, in three digits or so."""
    value = value or 0
    if value < 1000:
        return str(value)
    return f"{value / 1000:.1f}k" if value < 1_000_000 else f"{value / 1_000_000:.2f}M"


@register.filter
def usd(value: Any) -> str:
    """Empty where no price is known."""
    if value is None:
        return ""
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


@register.filter
def left(moment: datetime) -> str:
    """How long it is until then."""
    minutes = max(0, (moment - timezone.now()).total_seconds()) / 60
    return f"{minutes / 60:.0f} h" if minutes >= 90 else f"{minutes:.0f} min"


@register.filter
def ago(moment: datetime) -> str:
    """How long ago, for a list."""
    seconds = (timezone.now() - moment).total_seconds()
    for unit, length, most in (("min", 60, 60), ("h", 3600, 24), ("d", 86400, 7)):
        if seconds < 60:
            return "now"
        if seconds < length * most:
            return f"{seconds // length:.0f} {unit}"
    return date_format(moment, "j M Y")


_LEFT = {"task": "Left for this task", "day": "Left today", "month": "Left this month"}


@register.filter
def amount(value: Decimal, limit: Limit) -> str:
    """In the limit's unit."""
    return usd(value) if limit.unit is Unit.USD else f"{count(int(value))} tokens"


@register.filter
def owner(limit: Limit) -> str:
    """Whose budget it is; empty for one's own."""
    return {Scope.USER: "", Scope.ROLE: f"role {limit.name}", Scope.SYSTEM: "this server", Scope.SHARE: "share"}[
        limit.scope
    ]


@register.filter
def left_label(limit: Limit) -> str:
    return ", ".join(filter(None, [_LEFT[limit.period], owner(limit)]))


@register.simple_tag
def standings(task: Task) -> list[Standing]:
    """The limits that bind a task. Only for the person who started it: other people's budgets are not shown."""
    return counters.standings(limits.binding_limits(task.started_by_id, task.pk))
