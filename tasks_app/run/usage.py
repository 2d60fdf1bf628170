"""What LLM calls use: those of an iteration, and how our estimate of tokens compares with a provider's count."""

from typing import Any
from uuid import UUID

from llm_app.call import Completion
from llm_app.models import CallStatus, LLMLog
from llm_app.sql.composed_query import Select
from llm_app.types import Purpose
from tasks_app.models import Task

_newest_answered = Select(
    lambda session, model: LLMLog.objects.filter(
        session_id=session, provider_model=model, purpose=Purpose.STEP, status=CallStatus.SUCCEEDED
    )[:1]
)
LEAST, MOST = 0.5, 2.0  # a provider that says it is further off does not count what we sent


class Calls:
    """The calls of an iteration. They count, whatever becomes of it.

    The next commit stores their logs, the settlement of their reservations, and the totals of the task.
    """

    def __init__(self) -> None:
        self._answered: list[Completion] = []
        self._logs: list[LLMLog] = []

    def answered(self, completion: Completion) -> None:
        self._answered.append(completion)
        self._logs.append(completion.log)

    def stored(self, log: LLMLog) -> None:
        """A call whose log is stored already: an attempt without an answer, or what a tool asked."""
        self._logs.append(log)

    def totals(self, task: Task) -> dict[str, Any]:
        """Fields of the task; `cost_usd` counts the calls whose price is known."""
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
        """In the transaction that stores the logs."""
        for completion in self._answered:
            completion.allowance.settle(completion.log)


class Calibration:
    """How our estimate compares with what the providers counted in one session, by the provider's name of the model."""

    def __init__(self, session_id: UUID) -> None:
        self._session_id = session_id
        self._factors: dict[str, float] = {}

    def factor(self, model: str) -> float:
        """Tokens of the provider for one of ours. Asked for a model for the first time, it costs a query."""
        if model not in self._factors:
            newest = _newest_answered.first(self._session_id, model)
            self._factors[model] = _factor(newest) or 1.0 if newest else 1.0
        return self._factors[model]

    def learn(self, log: LLMLog) -> None:
        """From a call that was answered."""
        if factor := _factor(log):
            self._factors[log.provider_model] = factor


def _factor(log: LLMLog) -> float:
    """0 where the provider has not counted."""
    if log.usage_estimated or not log.input_tokens or not log.estimated_tokens:
        return 0.0
    return min(MOST, max(LEAST, log.input_tokens / log.estimated_tokens))
