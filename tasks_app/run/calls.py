"""The LLM calls of an iteration: they were made and cost what they cost, whatever becomes of the iteration."""

from typing import Any

from llm_app.call.llm_call import Completion
from llm_app.models import LLMLog
from tasks_app.models import Task


class Calls:
    """What the next commit stores of them: logs with their settlement, and the totals of the task."""

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

    def save(self) -> None:
        for completion in self._answered:
            completion.save()
