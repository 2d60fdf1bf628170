"""Search of notes by meaning, with vectors of an embedding model, if one is set up.

A note gets its vector at its first search, and a new one after its text has changed.
"""

import logging
from collections.abc import Sequence

from django.db import IntegrityError, transaction

from llm_app.call import Runner
from tasks_app.memory.embedder import LEAST, Embedded, Embedder, NoEmbedding, Vector
from tasks_app.models import MemoryNote, MemoryNoteQuerySet, NoteVector
from tasks_app.models.memory_note import digest_of
from tasks_app.run import UnitOfWork
from tasks_app.runtime.cancellation import WorkAborted

MOST = 2000  # notes compared, newest first
MOST_NEW = 100  # notes embedded per search; the others follow later
CLOSEST = 20
logger = logging.getLogger(__name__)


def nearest_by_meaning(unit: UnitOfWork, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[MemoryNote]:
    """Return the nearest notes, best first. Empty without an embedding model or an answer, which is harmless."""
    embedder = Embedder.of_user(unit.task.started_by_id, run)
    if not embedder or not (rows := list(notes[:MOST])):
        return []
    try:
        return _nearest(unit, rows, question, embedder)
    except NoEmbedding as error:
        logger.warning("memory is searched by its words only: %s", error)
    except WorkAborted:
        logger.info("a person came before the notes were compared")
    return []


def nearness(unit: UnitOfWork, message: str, examples: Sequence[str], run: Runner) -> list[float]:
    """Return the cosine of a message with each example, from -1 to 1. Empty without an embedding model or an
    answer.
    """
    embedder = Embedder.of_user(unit.task.started_by_id, run)
    if not embedder or not examples:
        return []
    try:
        found = embedder.for_task(unit, [message[: MemoryNote.MAX_LENGTH], *examples[:MOST_NEW]]).vectors
    except NoEmbedding as error:
        logger.warning("the message is not compared by its meaning: %s", error)
        return []
    except WorkAborted:
        return []
    return [float(closeness) for closeness in found[1:] @ found[0]]


def _nearest(unit: UnitOfWork, rows: Sequence[MemoryNote], question: str, embedder: Embedder) -> list[MemoryNote]:
    asked = embedder.for_task(unit, [question[: MemoryNote.MAX_LENGTH]])
    known = _known(rows, asked)
    missing = [row for row in rows if row.pk not in known][:MOST_NEW]
    known |= _learned(missing, asked, embedder) if missing else {}
    return _closest([row for row in rows if row.pk in known], known, asked.vectors[0])


def _closest(rows: Sequence[MemoryNote], known: dict[int, Vector], asked: Vector) -> list[MemoryNote]:
    """Sort notes by cosine, the product of vectors of length 1. Ties go to the newer note."""
    import numpy as np

    if not rows:
        return []
    closeness = np.array([known[row.pk] for row in rows], dtype=np.float64) @ asked.astype(np.float64)
    order = np.argsort(-closeness, kind="stable")[:CLOSEST]
    return [rows[place] for place in order if closeness[place] >= LEAST]


def _known(rows: Sequence[MemoryNote], asked: Embedded) -> dict[int, Vector]:
    """Return stored vectors of current texts that are comparable with the question's vector."""
    import numpy as np

    digests = {row.pk: digest_of(row.text) for row in rows}
    stored = NoteVector.objects.filter(note__in=list(digests), model=asked.model)
    current = [each for each in stored if each.digest == digests[each.note_id]]
    vectors = {each.note_id: np.frombuffer(each.values, dtype=np.float32) for each in current}
    return {pk: vector for pk, vector in vectors.items() if vector.shape == asked.vectors[0].shape}


def _learned(rows: Sequence[MemoryNote], asked: Embedded, embedder: Embedder) -> dict[int, Vector]:
    """Create and save missing vectors. If another model answered than for the question, they serve only later
    searches.
    """
    try:
        made = embedder.for_person([row.text for row in rows])
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
