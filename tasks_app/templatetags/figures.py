"""Filters for sizes, times, amounts and budgets."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import template
from django.utils import timezone
from django.utils.formats import date_format, get_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext

from llm_app.budgets import BudgetScope, Limit, LimitState, Unit, counters, limits
from llm_app.models import UNPRICED, LLMLog
from tasks_app.models import Task
from tools_app.files import in_units

register = template.Library()
SHORT_LINES, SHORT_CHARACTERS = 16, 1200


@register.filter
def size(value: int) -> str:
    return in_units(value).replace(".", str(get_format("DECIMAL_SEPARATOR")))


@register.filter
def extent(text: str) -> str:
    """Return the length of a text, or '' for a short one."""
    lines, characters = text.count("\n") + 1, len(text)
    if lines <= SHORT_LINES and characters <= SHORT_CHARACTERS:
        return ""
    line_count = ngettext("%(n)d line", "%(n)d lines", lines) % {"n": lines}
    number = number_format(characters, force_grouping=True)
    return gettext("All of it: %(lines)s, %(n)s characters") % {"lines": line_count, "n": number}


@register.filter
def duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return gettext("{} ms").format(milliseconds)
    seconds = milliseconds / 1000
    if seconds < 60:
        return gettext("{} s").format(number_format(seconds, 1))
    return gettext("{:.0f} min {:.0f} s").format(seconds // 60, seconds % 60)


@register.filter
def count(value: int | None) -> str:
    """Return a number of tokens with about three digits."""
    value = value or 0
    if value < 1000:
        return str(value)
    if value < 1_000_000:
        return gettext("{}k").format(number_format(value / 1000, 1))
    return gettext("{}M").format(number_format(value / 1_000_000, 2))


@register.filter
def usd(value: Any) -> str:
    """Return an amount in US dollars, or '' without a price."""
    if value is None:
        return ""
    return gettext("${}").format(number_format(value, 2 if value >= 1 or value == 0 else 4))


@register.filter
def cost(used: Mapping[str, Any]) -> str:
    """Return the cost of a row of usage, and how many of its calls had no price."""
    amount, unpriced = used["cost_usd"], used["unpriced_calls"]
    if amount is None:
        return gettext("no price") if used["input_tokens"] or used["output_tokens"] else "–"
    if not unpriced:
        return usd(amount)
    calls = ngettext("%(n)d call without a price", "%(n)d calls without a price", unpriced) % {"n": unpriced}
    return f"{usd(amount)} + {calls}"


@register.simple_tag
def cost_of(task: Task) -> str:
    """Return the cost of a task, and how many of its calls had no price."""
    unpriced = LLMLog.objects.filter(UNPRICED, task_id=task.pk).count() if task.cost_usd is not None else 0
    return cost({**task.usage, "cost_usd": task.cost_usd, "unpriced_calls": unpriced})


@register.filter
def spent(standing: LimitState) -> str:
    """Return the used amount of a limit, and how many calls have no price and do not count."""
    unpriced = counters.unpriced_calls(standing.limit)
    if not unpriced:
        return amount(standing.spent, standing.limit)
    calls = ngettext("%(n)d call without a price", "%(n)d calls without a price", unpriced) % {"n": unpriced}
    return f"{amount(standing.spent, standing.limit)} + {calls}" if standing.spent else calls


@register.filter
def left(time: datetime) -> str:
    """Return the time until `time`."""
    minutes = max(0, (time - timezone.now()).total_seconds()) / 60
    return gettext("{:.0f} h").format(minutes / 60) if minutes >= 90 else gettext("{:.0f} min").format(minutes)


_AGO = (
    (gettext_lazy("{:.0f} min"), 60, 60),
    (gettext_lazy("{:.0f} h"), 3600, 24),
    (gettext_lazy("{:.0f} d"), 86400, 7),
)


@register.filter
def ago(time: datetime) -> str:
    """Return the time since `time` for a list."""
    seconds = (timezone.now() - time).total_seconds()
    if seconds < 60:
        return gettext("now")
    for pattern, length, limit in _AGO:
        if seconds < length * limit:
            return pattern.format(seconds // length)
    return date_format(time, gettext("j M Y"))


@register.filter
def since(time: datetime) -> str:
    """Return the time since `time` for a sentence."""
    if (timezone.now() - time).total_seconds() < 60:
        return gettext("just now")
    words = ago(time)
    return gettext("{} ago").format(words) if (timezone.now() - time).days < 7 else words


@register.filter
def silent_for(silence: Mapping[str, str]) -> SafeString:
    """Return how long a provider has sent nothing. Scripts of the page count on from there."""
    seconds = (timezone.now() - datetime.fromisoformat(silence["since"])).total_seconds()
    return format_html('<span data-since="{}">{}</span>', silence["since"], counted_seconds(seconds))


@register.filter
def silence_limit(silence: Mapping[str, str]) -> str:
    """Return after how long a silent provider is given up."""
    since, end = (datetime.fromisoformat(silence[name]) for name in ("since", "gives_up_at"))
    return counted_seconds((end - since).total_seconds())


def counted_seconds(seconds: float) -> str:
    """Return seconds as pages count them."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole <= 120 else f"{whole // 60} min {whole % 60} s"


_LEFT = {
    "task": gettext_lazy("Left for this task"),
    "day": gettext_lazy("Left today"),
    "month": gettext_lazy("Left this month"),
}


@register.filter
def amount(value: Decimal, limit: Limit) -> str:
    """Return the value in the limit's unit."""
    return usd(value) if limit.unit is Unit.USD else gettext("{} tokens").format(count(int(value)))


@register.filter
def owner(limit: Limit) -> str:
    """Return the owner of a limit, or '' for the user."""
    return {
        BudgetScope.USER: "",
        BudgetScope.ROLE: gettext("role {}").format(limit.name),
        BudgetScope.SYSTEM: gettext("this server"),
        BudgetScope.SHARE: gettext("share"),
    }[limit.scope]


@register.filter
def left_label(limit: Limit) -> str:
    return ", ".join(filter(None, [str(_LEFT[limit.period]), owner(limit)]))


@register.simple_tag
def standings(task: Task) -> list[LimitState]:
    """Return the limits that bind a task. Show them only to the user who started it: budgets are private."""
    return counters.limit_states(limits.limits_for_call(task.started_by_id, task.pk))
