"""Calls of a model beside the steps of a task: what a tool asks, a summary, an embedding. None of them streams."""

from collections.abc import Callable, Sequence

from django.db import transaction

from llm_app import stored_prompt
from llm_app.call import Action, Completion, LLMCall, Observer, Runner, client
from llm_app.errors import LLMError
from llm_app.models import LLMLog
from llm_app.redaction import Redactor
from llm_app.types import Message, Prompt, Purpose
from tasks_app.run.unit_of_work import UnitOfWork


def ask_aside(
    unit: UnitOfWork,
    messages: Sequence[Message],
    run: Runner,
    *,
    purpose: Purpose,
    redactor: Redactor,
    model: str,
    system: str = "",
    of_task: bool = True,
    say: Callable[[str], object] | None = None,
) -> Completion:
    """Asks a logical model on behalf of the task's person, and stores the log of the call.

    Unless the call is `of_task`, its log names the person only. `say` tells them what the call waits for. Raises
    LLMError, BudgetExceeded, or what interrupts `run`.
    """
    stored = stored_prompt.store_prompt(Prompt(system=system, tools=(), messages=messages))
    task = unit.task
    call = LLMCall(
        purpose=purpose,
        prompt_for=lambda recipient: stored,
        redactor=redactor,
        model=model,
        user_id=task.started_by_id,
        task_id=task.id if of_task else None,
        tree=unit.tree if of_task else None,
        session_id=unit.session.id if of_task else None,
        iteration=task.iteration if of_task else 0,
        needs_sight=any(message.pictures for message in messages),
    )
    completion = client.complete(call, observer=_CostObserver(unit, say), run=run)
    with transaction.atomic():
        completion.save()
    if of_task:
        unit.calls.stored(completion.log)
    return completion


class _CostObserver(Observer):
    """Counts what failed attempts of the task have cost."""

    def __init__(self, unit: UnitOfWork, say: Callable[[str], object] | None) -> None:
        self._unit, self._say = unit, say

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        self.waiting(error.sentence)

    def waiting(self, why: str) -> None:
        if self._say is not None:
            self._say(why)

    def used(self, log: LLMLog) -> None:
        if log.task_id:
            self._unit.calls.stored(log)
