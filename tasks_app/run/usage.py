"""Usage of LLM calls: the calls of an iteration, the calibration of our token estimates, and the window's filling."""

import math
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from llm_app.call import Completion
from llm_app.models import LLMCallStatus, LLMLog
from llm_app.sql import cached_sql, fetch_first
from llm_app.types import Purpose
from tasks_app.models import Task
from tasks_app.record import RequestMessages

FEW_PAGES = 4  # in a window of so few pages, the cut moves often
LEAST, MOST = 0.5, 2.0  # bounds of the factor: a count outside of them is not one of our request


class Calls:
    """LLM calls of one iteration, billed even if the iteration fails.

    The next commit stores their logs, the settlement of their reservations, and the totals of the task.
    """

    def __init__(self) -> None:
        self._answered: list[Completion] = []
        self._logs: list[LLMLog] = []

    def add_answered(self, completion: Completion) -> None:
        self._answered.append(completion)
        self._logs.append(completion.log)

    def add_stored(self, log: LLMLog) -> None:
        """Add a call whose log is already stored: an attempt without an answer, or a side call."""
        self._logs.append(log)

    def totals(self, task: Task) -> dict[str, Any]:
        """Return the task's fields with the new totals. `cost_usd` sums the calls whose price is known."""
        if not self._logs:
            return {}
        totals: dict[str, Any] = {
            name: count + sum(getattr(log, name) for log in self._logs) for name, count in task.usage.items()
        }
        costs = [log.cost_usd for log in self._logs if log.cost_usd is not None]
        return totals | ({"cost_usd": (task.cost_usd or 0) + sum(costs)} if costs else {})

    @property
    def unsaved(self) -> list[LLMLog]:
        return [completion.log for completion in self._answered]

    def settle(self) -> None:
        """Settle the reservations, in the transaction that stores the logs."""
        for completion in self._answered:
            completion.allowance.settle(completion.log)


@cached_sql
def _newest_answered(session: UUID, model: str) -> LLMLog | None:
    steps = LLMLog.objects.filter(session_id=session, provider_model=model, purpose=Purpose.STEP)
    return fetch_first(steps.filter(status=LLMCallStatus.SUCCEEDED))


class Calibration:
    """The ratio of the providers' token counts in one session to our estimates, by the provider's name of the model."""

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self._factors: dict[str, float] = {}

    def factor(self, model: str) -> float:
        """Return the provider's tokens per token of our estimate. The first call for a model costs a query."""
        if model not in self._factors:
            newest = _newest_answered(self._session_id, model)
            self._factors[model] = _factor(newest) or 1.0 if newest else 1.0
        return self._factors[model]

    def learn(self, log: LLMLog) -> None:
        """Update the factor from an answered call."""
        if factor := _factor(log):
            self._factors[log.provider_model] = factor


def _factor(log: LLMLog) -> float:
    """Return the factor of a call, or 0 if the provider has not counted."""
    if log.usage_estimated or not log.input_tokens or not log.estimated_tokens:
        return 0.0
    return min(MOST, max(LEAST, log.input_tokens / log.estimated_tokens))


@dataclass(frozen=True, kw_only=True)
class WindowFilling:
    """The conversation of the newest request. It grows until the cut moves, at `full` tokens of the provider."""

    conversation: RequestMessages
    factor: float
    full: int

    @property
    def remaining(self) -> int:
        """Return the tokens that can be added before the cut moves."""
        return self.full - math.ceil(self.conversation.size * self.factor)

    def page(self, tokens: int) -> int:
        """Return the size of a result's page, by our count, for results of up to `tokens`.

        A page that would move the cut ends before it, and leaves room for the next step. If that is much less than the
        size, or the window holds only a few pages, a shorter one is not worth its step.
        """
        fitting = int(self.remaining / self.factor) - tokens // 8
        is_worth_it = tokens * 5 // 8 <= fitting < tokens and tokens * FEW_PAGES <= self.full
        return fitting if is_worth_it else tokens
