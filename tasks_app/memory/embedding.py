"""Asks a model of embeddings what texts mean, and never waits for it for long."""

import asyncio
import math
import time
from array import array
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from llm_app import active_secrets, errors
from llm_app.adapters.openai_embeddings import vectors
from llm_app.call.llm_call import Completion, Runner
from llm_app.redaction.redactor import Redactor
from llm_app.types import Message, Purpose
from tasks_app.run.aside import ask_aside
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
        return self._embedded([text], self._context.secrets.redactor, of_task=True)

    def of_notes(self, texts: Sequence[str]) -> Embedded:
        """A call of the person, not of the session: those who read its calls, now or later, may not know all notes."""
        redactor = active_secrets.of_people([self._context.task.started_by_id]).redactor
        return self._embedded(texts, redactor, of_task=False)

    def _embedded(self, texts: Sequence[str], redactor: Redactor, *, of_task: bool) -> Embedded:
        messages = [
            Message(role="user", content=redactor.redacted(text), masked_with=redactor.version) for text in texts
        ]
        completion = self._complete(messages, redactor, of_task=of_task)
        try:
            found = [_unit(vector) for vector in vectors(completion.result)]
        except ValueError as error:
            raise NoEmbedding("its answer cannot be read") from error
        return Embedded(model=completion.log.provider_model, vectors=found)

    def _complete(self, messages: Sequence[Message], redactor: Redactor, *, of_task: bool) -> Completion:
        try:
            return ask_aside(
                self._context,
                messages,
                self._in_time,
                purpose=Purpose.MEMORY,
                redactor=redactor,
                model=self._model,
                of_task=of_task,
            )
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
