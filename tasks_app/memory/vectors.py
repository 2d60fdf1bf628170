"""Which notes mean what a question means, also where they share no word: by vectors, where a model for them is set up.

A note gets its vector when it is first looked through, and again after its text has changed.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from django.db import IntegrityError, transaction

from llm_app import abilities, active_secrets, errors
from llm_app.adapters.openai_embeddings import vectors
from llm_app.call import Completion, Runner
from llm_app.redaction import Redactor
from llm_app.types import Message, Purpose
from tasks_app.models import MemoryNote, MemoryNoteQuerySet, NoteVector
from tasks_app.models.memory_note import digest_of
from tasks_app.run import UnitOfWork, ask_aside
from tasks_app.runtime.cancellation import WorkAborted

if TYPE_CHECKING:  # imported on first use: it takes 0.1 s, and most servers have no model of embeddings
    from array import array

    import numpy as np

PATIENCE = 5.0  # seconds, for all that one embedder is asked

MOST = 2000  # notes that are looked through; of more, the newest
MOST_NEW = 100  # notes that get their vector at once; the others next time
CLOSEST = 20
LEAST = 0.3  # cosine; what is farther away has nothing to do with the question
logger = logging.getLogger(__name__)
T = TypeVar("T")
Vector: TypeAlias = "np.ndarray[Any, np.dtype[np.float32]]"  # one, or several as rows


class NoEmbedding(Exception):
    """The model of embeddings gave no answer."""


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """The vectors of texts, each of length 1, and the provider's model that they are of."""

    model: str
    vectors: Vector


class Embedder:
    """`model` is a logical one. Each method raises NoEmbedding, or what interrupts `run`."""

    def __init__(self, unit: UnitOfWork, model: str, run: Runner) -> None:
        self._unit, self._model, self._run = unit, model, run
        self._end = time.monotonic() + PATIENCE

    def of_question(self, text: str) -> Embedded:
        return self.of_texts([text])

    def of_texts(self, texts: Sequence[str]) -> Embedded:
        """A call of the task."""
        return self._embedded(texts, self._unit.secrets.redactor, of_task=True)

    def of_notes(self, texts: Sequence[str]) -> Embedded:
        """A call of the person, not of the session: those who read its calls, now or later, may not know all notes."""
        redactor = active_secrets.of_people([self._unit.task.started_by_id]).redactor
        return self._embedded(texts, redactor, of_task=False)

    def _embedded(self, texts: Sequence[str], redactor: Redactor, *, of_task: bool) -> Embedded:
        messages = [
            Message(role="user", content=redactor.redacted(text), masked_with=redactor.version) for text in texts
        ]
        completion = self._complete(messages, redactor, of_task=of_task)
        try:
            found = _unit_vectors(vectors(completion.result))
        except ValueError as error:
            raise NoEmbedding("its answer cannot be read") from error
        return Embedded(model=completion.log.provider_model, vectors=found)

    def _complete(self, messages: Sequence[Message], redactor: Redactor, *, of_task: bool) -> Completion:
        try:
            return ask_aside(
                self._unit,
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


def nearest_by_meaning(unit: UnitOfWork, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[MemoryNote]:
    """Best first. Empty where no model is set up for it or none answers: nothing hangs on it."""
    model = abilities.of_user(unit.task.started_by_id).embeds
    if not model or not (rows := list(notes[:MOST])):
        return []
    try:
        return _nearest(rows, question, Embedder(unit, model, run))
    except NoEmbedding as error:
        logger.warning("memory is searched by its words only: %s", error)
    except WorkAborted:
        logger.info("a person came before the notes were compared")
    return []


def nearness(unit: UnitOfWork, message: str, examples: Sequence[str], run: Runner) -> list[float]:
    """How near the meaning of a message is to that of each example, from -1 to 1; empty where nobody can say it."""
    model = abilities.of_user(unit.task.started_by_id).embeds
    if not model or not examples:
        return []
    try:
        found = Embedder(unit, model, run).of_texts([message[: MemoryNote.LONGEST], *examples[:MOST_NEW]]).vectors
    except NoEmbedding as error:
        logger.warning("the message is not compared by its meaning: %s", error)
        return []
    except WorkAborted:
        return []
    return [float(closeness) for closeness in found[1:] @ found[0]]


def _nearest(rows: Sequence[MemoryNote], question: str, embedder: Embedder) -> list[MemoryNote]:
    asked = embedder.of_question(question[: MemoryNote.LONGEST])
    known = _known(rows, asked)
    missing = [row for row in rows if row.pk not in known][:MOST_NEW]
    known |= _learned(missing, asked, embedder) if missing else {}
    return _closest([row for row in rows if row.pk in known], known, asked.vectors[0])


def _closest(rows: Sequence[MemoryNote], known: dict[int, Vector], asked: Vector) -> list[MemoryNote]:
    """By the cosine, which is the product of vectors of length 1. Of equally close notes the newer one comes first."""
    import numpy as np

    if not rows:
        return []
    closeness = np.array([known[row.pk] for row in rows], dtype=np.float64) @ asked.astype(np.float64)
    order = np.argsort(-closeness, kind="stable")[:CLOSEST]
    return [rows[place] for place in order if closeness[place] >= LEAST]


def _known(rows: Sequence[MemoryNote], asked: Embedded) -> dict[int, Vector]:
    """Vectors of the notes as they are now, that can be compared with the question's."""
    import numpy as np

    digests = {row.pk: digest_of(row.text) for row in rows}
    stored = NoteVector.objects.filter(note__in=list(digests), model=asked.model)
    current = [each for each in stored if each.digest == digests[each.note_id]]
    vectors = {each.note_id: np.frombuffer(each.values, dtype=np.float32) for each in current}
    return {pk: vector for pk, vector in vectors.items() if vector.shape == asked.vectors[0].shape}


def _learned(rows: Sequence[MemoryNote], asked: Embedded, embedder: Embedder) -> dict[int, Vector]:
    """Makes and keeps the vectors of notes that have none. Another model than the question's serves the next one."""
    try:
        made = embedder.of_notes([row.text for row in rows])
        _keep(rows, made)
    except NoEmbedding as error:
        logger.warning("new notes are searched by their words only: %s", error)
        return {}
    except IntegrityError:
        logger.info("a note was deleted while its vector was made")
        return {}
    comparable = made.model == asked.model and made.vectors[0].shape == asked.vectors[0].shape
    return {row.pk: vector for row, vector in zip(rows, made.vectors, strict=True)} if comparable else {}


def _keep(rows: Sequence[MemoryNote], made: Embedded) -> None:
    new = [
        NoteVector(note=row, model=made.model, digest=digest_of(row.text), values=vector.tobytes())
        for row, vector in zip(rows, made.vectors, strict=True)
    ]
    with transaction.atomic():
        NoteVector.objects.bulk_create(
            new, update_conflicts=True, unique_fields=["note", "model"], update_fields=["digest", "values"]
        )


def _unit_vectors(rows: "Sequence[array[float]]") -> Vector:
    """Each with length 1. Raises ValueError if they differ in length, or one has no direction."""
    import numpy as np

    vectors = np.array(rows, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and lengths.all()):
        raise ValueError("a vector without a direction")
    units: Vector = (vectors / lengths).astype(np.float32)
    return units
