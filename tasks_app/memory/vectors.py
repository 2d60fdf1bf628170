"""Search of notes by meaning, with vectors of an embedding model, if one is set up.

A note gets its vector at its first search, and a new one after its text has changed.
"""

import logging
from collections.abc import Sequence

from django.db import IntegrityError, transaction

from llm_app.call import Runner
from tasks_app.memory.embedder import MIN_COSINE, Embedded, Embedder, NoEmbedding, Vector
from tasks_app.models import MemoryNote, MemoryNoteQuerySet, NoteVector
from tasks_app.models.memory_note import digest_of
from tasks_app.run import UnitOfWork
from tasks_app.runtime.cancellation import WorkAborted

MAX_COMPARED = 2000  # notes compared, newest first
MAX_EMBEDDED = 100  # notes embedded per search; the others follow later
MAX_RESULTS = 20
logger = logging.getLogger(__name__)


def nearest_by_meaning(unit: UnitOfWork, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[MemoryNote]:
    """Return the nearest notes, best first. Empty without an embedding model or an answer, which is harmless."""
    embedder = Embedder.of_user(unit.task.started_by_id, run)
    if not embedder or not (rows := list(notes[:MAX_COMPARED])):
        return []
    try:
        return _nearest(unit, rows, question, embedder)
    except NoEmbedding as error:
        logger.warning("could not embed a question, searching the memory by words only: %s", error)
    except WorkAborted:
        logger.info("search of notes by meaning interrupted by a person, using words only")
    return []


def nearness(unit: UnitOfWork, message: str, examples: Sequence[str], run: Runner) -> list[float]:
    """Return the cosine of a message with each example, from -1 to 1. Empty without an embedding model or an
    answer.
    """
    embedder = Embedder.of_user(unit.task.started_by_id, run)
    if not embedder or not examples:
        return []
    try:
        embedded = embedder.for_task(unit, [message[: MemoryNote.MAX_LENGTH], *examples[:MAX_EMBEDDED]]).vectors
    except NoEmbedding as error:
        logger.warning("could not embed a message, routing rules by meaning are skipped: %s", error)
        return []
    except WorkAborted:
        return []
    return [float(closeness) for closeness in embedded[1:] @ embedded[0]]


def _nearest(unit: UnitOfWork, rows: Sequence[MemoryNote], question: str, embedder: Embedder) -> list[MemoryNote]:
    embedded_question = embedder.for_task(unit, [question[: MemoryNote.MAX_LENGTH]])
    vectors_by_note = _stored_vectors(rows, embedded_question)
    missing = [row for row in rows if row.pk not in vectors_by_note][:MAX_EMBEDDED]
    vectors_by_note |= _embed_missing(missing, embedded_question, embedder) if missing else {}
    return _closest([row for row in rows if row.pk in vectors_by_note], vectors_by_note, embedded_question.vectors[0])


def _closest(
    rows: Sequence[MemoryNote], vectors_by_note: dict[int, Vector], question_vector: Vector
) -> list[MemoryNote]:
    """Sort notes by cosine, the product of vectors of length 1. Ties go to the newer note."""
    import numpy as np

    if not rows:
        return []
    vectors = np.array([vectors_by_note[row.pk] for row in rows], dtype=np.float64)
    cosines = vectors @ question_vector.astype(np.float64)
    order = np.argsort(-cosines, kind="stable")[:MAX_RESULTS]
    return [rows[index] for index in order if cosines[index] >= MIN_COSINE]


def _stored_vectors(rows: Sequence[MemoryNote], embedded_question: Embedded) -> dict[int, Vector]:
    """Return stored vectors of current texts that are comparable with the question's vector."""
    import numpy as np

    digests = {row.pk: digest_of(row.text) for row in rows}
    stored = NoteVector.objects.filter(note__in=list(digests), model=embedded_question.model)
    current = [row for row in stored if row.digest == digests[row.note_id]]
    vectors = {row.note_id: np.frombuffer(row.values, dtype=np.float32) for row in current}
    return {pk: vector for pk, vector in vectors.items() if vector.shape == embedded_question.vectors[0].shape}


def _embed_missing(rows: Sequence[MemoryNote], embedded_question: Embedded, embedder: Embedder) -> dict[int, Vector]:
    """Create and save missing vectors. If another model answered than for the question, they serve only later
    searches.
    """
    try:
        embedded = embedder.for_person([row.text for row in rows])
        _save(rows, embedded)
    except NoEmbedding as error:
        logger.warning("could not embed new notes, searching them by words only: %s", error)
        return {}
    except IntegrityError:
        logger.info("a note was deleted while it was embedded")
        return {}
    comparable = (
        embedded.model == embedded_question.model and embedded.vectors[0].shape == embedded_question.vectors[0].shape
    )
    return {row.pk: vector for row, vector in zip(rows, embedded.vectors, strict=True)} if comparable else {}


def _save(rows: Sequence[MemoryNote], embedded: Embedded) -> None:
    new = [
        NoteVector(note=row, model=embedded.model, digest=digest_of(row.text), values=vector.tobytes())
        for row, vector in zip(rows, embedded.vectors, strict=True)
    ]
    with transaction.atomic():
        NoteVector.objects.bulk_create(
            new, update_conflicts=True, unique_fields=["note", "model"], update_fields=["digest", "values"]
        )
