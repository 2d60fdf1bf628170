"""The limits of calls, and the counters for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from django.utils.translation import gettext_noop as _

from llm_app.budgets.amounts import Unit
from llm_app.models import Budget
from llm_app.sql.composed_query import Select


class Period(StrEnum):
    TASK = "task"
    DAY = _("day")
    MONTH = _("month")

    def name_at(self, now: datetime) -> str:
        """Return the day ("2026-11-22") or the month ("2026-11") of a time in UTC."""
        return {Period.TASK: "", Period.DAY: f"{now:%Y-%m-%d}", Period.MONTH: f"{now:%Y-%m}"}[self]

    def begin(self, now: datetime) -> datetime | None:
        """Return the begin of the current period; None for a task."""
        if self is Period.TASK:
            return None
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return day if self is Period.DAY else day.replace(day=1)

    def end(self, now: datetime) -> datetime | None:
        """Return the begin of the next period; None for a task."""
        begin = self.begin(now)
        if begin is None:
            return None
        return begin + timedelta(days=1) if self is Period.DAY else (begin + timedelta(days=31)).replace(day=1)


class Scope(StrEnum):
    """The owner of a budget: one user, a role's members together, everyone together, or a delegated task's share."""

    USER = _("user")
    ROLE = "role"
    SYSTEM = "system"
    SHARE = "share"


@dataclass(frozen=True, kw_only=True, slots=True)
class Counter:
    """A sum of the calls of a user, of a role or of all since `begin`, or of one task. `key` is the key of its row."""

    key: str
    user_id: int | None = None
    role_id: int | None = None
    task_id: UUID | None = None
    begin: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """One number of a budget. `name` is the name of the user or the role; `renews_at` is None for a limit per task."""

    scope: Scope
    name: str
    unit: Unit
    period: Period
    most: Decimal
    counter: Counter
    renews_at: datetime | None

    @property
    def words(self) -> str:
        """Return a description such as "budget of the role analysts, $50.00 a month,"."""
        if self.scope is Scope.SHARE:
            return f"share of {amount_text(self.most, self.unit)} that was given to this task"
        whose = "this server" if self.scope is Scope.SYSTEM else f"the {self.scope} {self.name}"
        return f"budget of {whose}, {amount_text(self.most, self.unit)} a {self.period},"


def amount_text(amount: Decimal, unit: Unit) -> str:
    if unit is Unit.TOKENS:
        return f"{amount:,.0f} tokens"
    return f"${amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"${amount.normalize():,f}"


_binding = Select(Budget.objects.binding)


def binding_limits(user_id: int | None, task_id: UUID | None, now: datetime | None = None) -> tuple[Limit, ...]:
    """Return the limits for calls of a user in a task, with one query. Without a user, only the limits for everyone."""
    now = now or datetime.now(UTC)
    budgets = Budget.objects.binding(None) if user_id is None else _binding.rows(user_id)
    return tuple(limit for budget in budgets for limit in limits_of(budget, task_id, now))


def limits_of(budget: Budget, task_id: UUID | None, now: datetime) -> Iterator[Limit]:
    scope, name = _scope(budget)
    for period in Period:
        for unit in Unit:
            most = getattr(budget, f"{unit}_per_{period}")
            if most is not None:
                yield Limit(
                    scope=scope,
                    name=name,
                    unit=unit,
                    period=period,
                    most=Decimal(most),
                    counter=_counter(budget, task_id, period, now),
                    renews_at=period.end(now),
                )


def _scope(budget: Budget) -> tuple[Scope, str]:
    if budget.user is not None:
        return Scope.USER, budget.user.get_username()
    return (Scope.ROLE, budget.role.name) if budget.role is not None else (Scope.SYSTEM, "")


def _counter(budget: Budget, task_id: UUID | None, period: Period, now: datetime) -> Counter:
    if period is Period.TASK:
        return Counter(key=f"task {task_id}", task_id=task_id)
    when, begin = period.name_at(now), period.begin(now)
    if budget.user_id is not None:
        return Counter(key=f"user {budget.user_id} {when}", user_id=budget.user_id, begin=begin)
    if budget.role_id is not None:
        return Counter(key=f"role {budget.role_id} {when}", role_id=budget.role_id, begin=begin)
    return Counter(key=f"all {when}", begin=begin)
