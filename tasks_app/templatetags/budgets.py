"""How budgets stand, as people read it."""

from decimal import Decimal
from typing import Any

from django import template

from llm_app.budgets import counters, limits
from llm_app.budgets.amounts import Unit
from llm_app.budgets.limits import Limit, Scope
from llm_app.budgets.standing import Standing
from tasks_app.models import Task
from tasks_app.templatetags.figures import count, usd

register = template.Library()
_LEFT = {"task": "Left for this task", "day": "Left today", "month": "Left this month"}


@register.filter
def amount(value: Decimal, limit: Limit) -> str:
    """In the limit's unit."""
    return usd(value) if limit.unit is Unit.USD else f"{count(int(value))} tokens"


@register.filter
def owner(limit: Limit) -> str:
    """Whose budget it is; empty for one's own."""
    return {Scope.USER: "", Scope.ROLE: f"role {limit.name}", Scope.SYSTEM: "this server"}[limit.scope]


@register.filter
def left_label(limit: Limit) -> str:
    return ", ".join(filter(None, [_LEFT[limit.period], owner(limit)]))


@register.simple_tag
def standings(task: Task, viewer: Any) -> list[Standing]:
    """The limits that bind a task, for the person who started it; how others' budgets stand is not for everybody."""
    if viewer.pk != task.started_by_id:
        return []
    return counters.standings(limits.binding_limits(task.started_by_id, task.pk))
