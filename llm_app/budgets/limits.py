"""The limits of calls, their counters, and their current state."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from uuid import UUID

from django.utils.translation import gettext_noop as _

from llm_app.budgets.amounts import Amount, Unit
from llm_app.models import Budget


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


class BudgetScope(StrEnum):
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

    scope: BudgetScope
    name: str
    unit: Unit
    period: Period
    most: Decimal
    counter: Counter
    renews_at: datetime | None

    @property
    def description(self) -> str:
        """Return a description such as "budget of the role analysts, $50.00 a month,"."""
        if self.scope is BudgetScope.SHARE:
            return f"share of {amount_text(self.most, self.unit)} that was given to this task"
        owner = "this server" if self.scope is BudgetScope.SYSTEM else f"the {self.scope} {self.name}"
        return f"budget of {owner}, {amount_text(self.most, self.unit)} a {self.period},"


def amount_text(amount: Decimal, unit: Unit) -> str:
    if unit is Unit.TOKENS:
        return f"{amount:,.0f} tokens"
    return f"${amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"${amount.normalize():,f}"


def limits_for_call(user_id: int | None, task_id: UUID | None, now: datetime | None = None) -> tuple[Limit, ...]:
    """Return the limits for calls of a user in a task, with one query. Without a user, only the limits for everyone."""
    now = now or datetime.now(UTC)
    return tuple(limit for budget in Budget.objects.list_binding(user_id) for limit in limits_of(budget, task_id, now))


def limits_of(budget: Budget, task_id: UUID | None, now: datetime) -> Iterator[Limit]:
    if budget.user is not None:
        scope, name = BudgetScope.USER, budget.user.get_username()
    elif budget.role is not None:
        scope, name = BudgetScope.ROLE, budget.role.name
    else:
        scope, name = BudgetScope.SYSTEM, ""
    for period in Period:
        for unit in Unit:
            maximum = getattr(budget, f"{unit}_per_{period}")
            if maximum is not None:
                yield Limit(
                    scope=scope,
                    name=name,
                    unit=unit,
                    period=period,
                    most=Decimal(maximum),
                    counter=_counter(budget, task_id, period, now),
                    renews_at=period.end(now),
                )


def _counter(budget: Budget, task_id: UUID | None, period: Period, now: datetime) -> Counter:
    if period is Period.TASK:
        return Counter(key=f"task {task_id}", task_id=task_id)
    period_name, begin = period.name_at(now), period.begin(now)
    if budget.user_id is not None:
        return Counter(key=f"user {budget.user_id} {period_name}", user_id=budget.user_id, begin=begin)
    if budget.role_id is not None:
        return Counter(key=f"role {budget.role_id} {period_name}", role_id=budget.role_id, begin=begin)
    return Counter(key=f"all {period_name}", begin=begin)


# --- state -----------------------------------------------------------------------------------------------------------


class Availability(Enum):
    FREE = "free"
    RESERVED = "reserved"  # by other calls; there may be room after they end
    SPENT = "spent"


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitState:
    """The state of a limit. `spent` and `reserved` are in the limit's unit."""

    limit: Limit
    spent: Decimal
    reserved: Decimal

    @property
    def left(self) -> Decimal:
        return max(Decimal(0), self.limit.most - self.spent - self.reserved)

    @property
    def share_spent(self) -> float:
        """Return the spent share, from 0 to 1, or more if the last call exceeded the limit."""
        return float(self.spent / self.limit.most) if self.limit.most else 1.0

    def availability_for(self, amount: Amount) -> Availability:
        """Return whether a call has room. Without a known price it has room in every limit in USD.

        The cost is an upper estimate, so without other reservations the call can start. Thus a limit is used
        completely, and exceeded by at most one call.
        """
        cost = amount.in_unit(self.limit.unit)
        if cost is None:
            return Availability.FREE
        if self.spent >= self.limit.most:
            return Availability.SPENT
        return Availability.FREE if not self.reserved or cost <= self.left else Availability.RESERVED

    @property
    def sentence_when_spent(self) -> str:
        """Return the sentence for the user whose task ends."""
        if self.limit.renews_at is None:
            return f"The {self.limit.description} is spent by this task. Write a message to go on in a new one."
        renewal = f"It is renewed on {self.limit.renews_at:%-d %B %Y} at 00:00 UTC"
        return f"The {self.limit.description} is spent. {renewal}; an administrator can raise it."

    @property
    def sentence_when_reserved(self) -> str:
        """Return the reason why a call waits."""
        others = "other calls of this task" if self.limit.period is Period.TASK else "calls that run at the moment"
        return f"Waiting: what is left of the {self.limit.description} is reserved for {others}."
