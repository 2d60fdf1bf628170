"""Model calls besides the steps of a task, or for a person: a tool's question, a summary, an embedding.

None of them streams.
"""

from collections.abc import Callable, Sequence

from django.db import transaction

from llm_app import stored_prompt
from llm_app.call import Action, Completion, LLMCall, Observer, Runner, client
from llm_app.errors import LLMError
from llm_app.models import LLMLog
from llm_app.redaction import Redactor
from llm_app.types import Message, Prompt, Purpose
from tasks_app.run.unit_of_work import UnitOfWork
from tasks_app.runtime import cancellation


def make_side_call(
    unit: UnitOfWork,
    messages: Sequence[Message],
    run: Runner,
    *,
    purpose: Purpose,
    redactor: Redactor,
    model: str,
    system: str = "",
    on_wait: Callable[[str], object] | None = None,
) -> Completion:
    """Ask a logical model on behalf of the task's person, and store the log of the call.

    `on_wait` receives the reason that the call waits, to show it to the person.

    Raises: LLMError, BudgetExceeded, and the exceptions that interrupt `run`.
    """
    prompt = stored_prompt.store_prompt(Prompt(system=system, tools=(), messages=messages))
    task = unit.task
    call = LLMCall(
        purpose=purpose,
        prompt_for=lambda recipient: prompt,
        redactor=redactor,
        model=model,
        user_id=task.started_by_id,
        task_id=task.id,
        tree=unit.tree,
        session_id=unit.session.id,
        iteration=task.iteration,
        needs_sight=any(message.pictures for message in messages),
    )
    try:
        completion = client.complete(call, observer=_CostObserver(unit, on_wait), run=run)
    finally:
        cancellation.end_provider_wait(task.id)
    with transaction.atomic():
        completion.save()
    unit.calls.add_stored(completion.log)
    return completion


def make_call_for_person(
    user_id: int, messages: Sequence[Message], run: Runner, *, purpose: Purpose, redactor: Redactor, model: str
) -> Completion:
    """Ask a model for a person, by their budgets and rights, outside of any task. The log names only the person."""
    prompt = stored_prompt.store_prompt(Prompt(system="", tools=(), messages=messages))
    call = LLMCall(
        purpose=purpose, prompt_for=lambda recipient: prompt, redactor=redactor, model=model, user_id=user_id
    )
    completion = client.complete(call, observer=Observer(), run=run)
    completion.save()
    return completion


class _CostObserver(Observer):
    """An observer that counts the costs of the task's failed attempts."""

    def __init__(self, unit: UnitOfWork, on_wait: Callable[[str], object] | None) -> None:
        self._unit, self._on_wait = unit, on_wait

    def attempt(self, provider: str, silence_s: float) -> None:
        cancellation.begin_provider_wait(self._unit.task.id, provider, silence_s)

    def failed(self, error: LLMError, then: Action, delay: float) -> None:
        cancellation.end_provider_wait(self._unit.task.id)
        self.waiting(error.sentence)

    def waiting(self, reason: str) -> None:
        if self._on_wait is not None:
            self._on_wait(reason)

    def used(self, log: LLMLog) -> None:
        if log.task_id:
            self._unit.calls.add_stored(log)
