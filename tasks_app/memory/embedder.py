"""Vectors of texts, from the embedding model that an administrator has set up."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from llm_app import abilities, active_secrets, errors
from llm_app.adapters import vectors
from llm_app.call import Completion, Runner
from llm_app.redaction import Redactor
from llm_app.transport import DeadlinePassed, RunnerWithDeadline
from llm_app.types import Message, Purpose
from tasks_app.run import UnitOfWork, make_call_for_person, make_side_call

if TYPE_CHECKING:  # imported on first use: it takes 0.1 s, and most servers have no embedding model
    from array import array

    import numpy as np

TIMEOUT = 5.0  # seconds for all requests of one embedder while a task waits
MIN_COSINE = 0.3  # cosine, below which a text is irrelevant
Vector: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"  # one vector, or several as rows


class NoEmbedding(Exception):
    """The embedding model gave no usable answer."""


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors of length 1, and the provider's name of the model that made them."""

    model: str
    vectors: Vector


class Embedder:
    """A client of an embedding model. `model` is a logical model, called on behalf of a person.

    Its methods raise NoEmbedding, or the exception that interrupts `run`.
    """

    def __init__(self, user_id: int, model: str, run: Runner, timeout: float) -> None:
        self._user_id, self._model, self._run = user_id, model, run
        self._timeout, self._end = timeout, time.monotonic() + timeout

    @classmethod
    def of_user(cls, user_id: int, run: Runner, timeout: float = 0) -> "Embedder | None":
        """Return a client, or None if the person has no embedding model."""
        model = abilities.models_of_user(user_id).embeds
        return cls(user_id, model, run, timeout or TIMEOUT) if model else None

    def for_task(self, unit: UnitOfWork, texts: Sequence[str]) -> Embedded:
        """Embed texts as a call of the task."""
        return self._embedded(texts, unit.secrets.redactor, unit)

    def for_person(self, texts: Sequence[str], people: Iterable[int] = ()) -> Embedded:
        """Embed texts as a call of the person, outside of any session, whose readers may not know all the texts.

        Redacts also the secrets of `people`.
        """
        return self._embedded(texts, active_secrets.for_users([self._user_id, *people]).redactor, None)

    def _embedded(self, texts: Sequence[str], redactor: Redactor, unit: UnitOfWork | None) -> Embedded:
        redacted_texts = map(redactor.redacted, texts)
        messages = [Message(role="user", content=text, masked_with=redactor.version) for text in redacted_texts]
        completion = self._complete(messages, redactor, unit)
        try:
            return Embedded(model=completion.log.provider_model, vectors=_unit_vectors(vectors(completion.result)))
        except ValueError as error:
            raise NoEmbedding("its answer cannot be read") from error

    def _complete(self, messages: Sequence[Message], redactor: Redactor, unit: UnitOfWork | None) -> Completion:
        ask = partial(make_side_call, unit) if unit else partial(make_call_for_person, self._user_id)
        in_time = RunnerWithDeadline(self._run, self._end - time.monotonic())
        try:
            return ask(messages, in_time, purpose=Purpose.MEMORY, redactor=redactor, model=self._model)
        except (errors.LLMError, errors.BudgetExceeded) as error:
            raise NoEmbedding(str(error)) from error
        except DeadlinePassed as error:
            raise NoEmbedding(f"it took over {self._timeout:.0f} s") from error


def _unit_vectors(rows: "Sequence[array[float]]") -> Vector:
    """Scale vectors to length 1. Raises ValueError for different dimensions or a vector without direction."""
    import numpy as np

    array = np.array(rows, dtype=np.float64)
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ValueError("a vector without a direction")
    units: Vector = (array / lengths).astype(np.float32)
    return units
