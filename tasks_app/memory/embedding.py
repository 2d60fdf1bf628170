"""Asks a model of embeddings what texts mean: through the one door, and never for long."""

import asyncio
import math
import time
from array import array
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import transaction

from llm_app import active_secrets, errors, stored_prompt
from llm_app.adapters.openai_embeddings import vectors
from llm_app.call import client
from llm_app.call.llm_call import Completion, LLMCall, Runner
from llm_app.call.retry import Action
from llm_app.models import LLMLog
from llm_app.redaction.redactor import Redactor
from llm_app.types import Delta, Message, Prompt, Purpose
from tasks_app.run.context import TaskContext

PATIENCE = 5.0  # seconds, for all that one embedder is asked
T = TypeVar("T")


class NoEmbedding(Exception):
    """The model of embeddings gave no answer."""


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """The vectors of texts, each of length 1, and the provider's model that they are of."""

    model: str
    vectors: "Sequence[array[float]]"


class Embedder:
    """`model` is a logical one. Each method raises NoEmbedding, or what interrupts `run`."""

    def __init__(self, context: TaskContext, model: str, run: Runner) -> None:
        self._context, self._model, self._run = context, model, run
        self._end = time.monotonic() + PATIENCE

    def of_question(self, text: str) -> Embedded:
        """A call of the task."""
        task, redactor = self._context.task, self._context.secrets.redactor
        place = {"task_id": task.id, "session_id": self._context.session.id, "iteration": task.iteration}
        embedded, log = self._asked([text], redactor, **place)
        self._context.calls.stored(log)
        return embedded

    def of_notes(self, texts: Sequence[str]) -> Embedded:
        """A call of the person, not of the session: whoever reads its calls, now or later, may not know all notes."""
        return self._asked(texts, active_secrets.of_people([self._context.task.started_by_id]).redactor)[0]

    def _asked(self, texts: Sequence[str], redactor: Redactor, **place: Any) -> tuple[Embedded, LLMLog]:
        messages = [
            Message(role="user", content=redactor.redacted(text), masked_with=redactor.version) for text in texts
        ]
        stored = stored_prompt.keep(Prompt(system="", tools=(), messages=messages))
        call = LLMCall(
            purpose=Purpose.MEMORY,
            prompt_for=lambda recipient: stored,
            redactor=redactor,
            model=self._model,
            user_id=self._context.task.started_by_id,
            **place,
        )
        completion = self._complete(call)
        with transaction.atomic():
            completion.save()
        try:
            found = [_unit(vector) for vector in vectors(completion.result)]
        except ValueError as error:
            raise NoEmbedding("its answer cannot be read") from error
        return Embedded(model=completion.log.provider_model, vectors=found), completion.log

    def _complete(self, call: LLMCall) -> Completion:
        try:
            return client.complete(call, observer=_Observer(self._context), run=self._in_time)
        except (errors.LLMError, errors.BudgetExceeded) as error:
            raise NoEmbedding(str(error)) from error
        except TimeoutError as error:
            raise NoEmbedding(f"it took over {PATIENCE:.0f} s") from error

    def _in_time(self, work: Coroutine[Any, Any, T]) -> T:
        return self._run(asyncio.wait_for(work, self._end - time.monotonic()))


def _unit(vector: "array[float]") -> "array[float]":
    length = math.hypot(*vector)
    if not (math.isfinite(length) and length):
        raise ValueError("a vector without a direction")
    return array("f", [value / length for value in vector])


class _Observer:
    """Nobody watches; what was used is counted, if it was the task's."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    def attempt(self) -> None: ...

    def delta(self, delta: Delta) -> None: ...

    def failed(self, error: errors.LLMError, then: Action, delay: float) -> None: ...

    def waiting(self, why: str) -> None: ...

    def used(self, log: LLMLog) -> None:
        if log.task_id:
            self._context.calls.stored(log)
