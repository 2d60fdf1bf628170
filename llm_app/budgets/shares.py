"""Budgets of a tree of tasks: limits of a task apply to the task and its subtasks together, and each has its share."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from llm_app.budgets import counters
from llm_app.budgets.amounts import Unit
from llm_app.budgets.limits import BudgetScope, Counter, Limit, Period, limits_for_call


@dataclass(frozen=True, kw_only=True)
class Share:
    """The amounts that a task and its subtasks can use; None without a limit."""

    task_id: UUID
    tokens: int | None = None
    usd: Decimal | None = None

    def limits(self) -> Iterator[Limit]:
        for unit, maximum in ((Unit.TOKENS, self.tokens), (Unit.USD, self.usd)):
            if maximum is not None:
                yield Limit(
                    scope=BudgetScope.SHARE,
                    name="",
                    unit=unit,
                    period=Period.TASK,
                    most=Decimal(maximum),
                    counter=Counter(key=f"share {self.task_id}", task_id=self.task_id),
                    renews_at=None,
                )


@dataclass(frozen=True, kw_only=True)
class BudgetTree:
    """The position of a task in its tree.

    Limits per task are those of `top`; `shares` are the task's own and its ancestors'.
    """

    top: UUID
    shares: tuple[Share, ...] = ()

    def limits_of(self, user_id: int | None) -> tuple[Limit, ...]:
        return (*limits_for_call(user_id, self.top), *(limit for share in self.shares for limit in share.limits()))

    def remaining(self, user_id: int | None) -> tuple[Decimal | None, Decimal | None]:
        """Return the tokens and the USD that tasks of the tree can still use; None without a limit per task."""
        states = counters.limit_states([limit for limit in self.limits_of(user_id) if limit.period is Period.TASK])
        tokens, usd = ([state.left for state in states if state.limit.unit is unit] for unit in (Unit.TOKENS, Unit.USD))
        return min(tokens, default=None), min(usd, default=None)
