"""Search in the library of a session's project, by words and by vectors.

Vectors are made in the background, with the embedding model of the project's owner, who pays for them.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.db import IntegrityError, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from llm_app import abilities
from llm_app.call import Runner
from llm_app.models import Route
from tasks_app.memory.embedder import LEAST, Embedded, Embedder, NoEmbedding
from tasks_app.memory.search import asked
from tasks_app.models import LibraryFile, LibraryPassage, PassageVector, Project, Session
from tasks_app.run import UnitOfWork
from tasks_app.runtime import event_loop
from tasks_app.runtime.cancellation import WorkAborted
from tasks_app.text.retrieval import bm25, reciprocal_rank_fusion, terms_of
from tools_app.errors import ToolError
from tools_app.notes import CitedPassage

SHOWN = 8
FUSED = 50  # passages of each ranking
CANDIDATES = 1000  # passages with any word of the question
MOST_COMPARED = 50_000  # vectors, newest first
COMPARED_AT_ONCE = 1000
AT_ONCE = 32  # passages per call
LONGEST = 2000  # characters of a passage that are embedded
PATIENCE = 30.0  # seconds per call
HOLD = timedelta(seconds=90)
LATER = timedelta(minutes=5)  # delay after a failed call
_VERSION = "SELECT version FROM settings_version"
logger = logging.getLogger(__name__)


def search(unit: UnitOfWork, question: str, run: Runner) -> list[CitedPassage]:
    """Return the passages nearest to the question. Project and access are checked again for each search."""
    project = Session.objects.values_list("project", flat=True).get(pk=unit.session.pk)
    visible = Project.objects.visible_to(unit.task.started_by).filter(pk__in=[project])
    files = LibraryFile.objects.filter(project__in=visible.order_by().values("pk"))
    if not files.exists():
        raise ToolError("This session has no library.")
    passages = LibraryPassage.objects.filter(file__in=files.values("pk")).select_related("file")
    terms = asked(question) or terms_of(question)
    worded = bm25(terms, list(passages.with_any_term(terms)[:CANDIDATES]), _terms, FUSED)
    found = reciprocal_rank_fusion([worded, _meant(unit, passages, question, run)], SHOWN)
    return [
        CitedPassage(file=row.file_id, name=row.file.name, unit=row.file.unit, page=row.page, text=row.text)
        for row in found
    ]


def _terms(passage: LibraryPassage) -> list[str]:
    return terms_of(f"{passage.file.name} {passage.text}")


def _meant(unit: UnitOfWork, passages: QuerySet[LibraryPassage], question: str, run: Runner) -> list[LibraryPassage]:
    """Return passages by meaning, best first. Empty without an embedding model, an answer or vectors."""
    embedder = Embedder.of_user(unit.task.started_by_id, run)
    vectors = PassageVector.objects.filter(passage__in=passages.values("pk"))
    if not embedder or not vectors.exists():
        return []
    try:
        found = _closest(vectors, embedder.for_task(unit, [question]))
    except NoEmbedding as error:
        logger.warning("the library is searched by its words only: %s", error)
        return []
    except WorkAborted:
        return []
    rows = passages.in_bulk(found)
    return [rows[pk] for pk in found if pk in rows]


def _closest(vectors: QuerySet[PassageVector], question: Embedded) -> list[int]:
    """Return ids of passages by cosine (the product of vectors of length 1), in batches to limit memory."""
    import numpy as np

    ids = list(vectors.filter(model=question.model).order_by("-pk").values_list("pk", flat=True)[:MOST_COMPARED])
    asked, size = question.vectors[0], 2 * len(question.vectors[0])
    near: list[tuple[float, int]] = []
    for begin in range(0, len(ids), COMPARED_AT_ONCE):
        stored = PassageVector.objects.filter(pk__in=ids[begin : begin + COMPARED_AT_ONCE])
        rows = [(pk, values) for pk, values in stored.values_list("pk", "values") if len(values) == size]
        values = np.frombuffer(b"".join(values for _, values in rows), np.float16).reshape(len(rows), len(asked))
        closeness = values.astype(np.float32) @ asked
        near += [(float(each), pk) for each, (pk, _) in zip(closeness, rows, strict=True) if each >= LEAST]
        near = sorted(near, key=lambda each: (-each[0], each[1]))[:FUSED]
    return [pk for _, pk in near]


class VectorIndex:
    """The background indexer. Several processes can work in parallel, because each holds the file that it works on."""

    def __init__(self) -> None:
        self._version: int | None = None  # settings version at the last comparison with the files

    def work(self) -> bool:
        """Embed some passages of one file. Return whether there may be more to do."""
        with connection.cursor() as cursor:
            cursor.execute(_VERSION)
            (version,) = cursor.fetchone()
        if version != self._version:
            _look_again()
            self._version = version
        file = _claim()
        if file is not None:
            _learn(file)
        return file is not None


def _look_again() -> None:
    """Release files whose model may have changed, and files that are waiting after a failure."""
    ready = LibraryFile.objects.ready()
    for owner in Project.objects.filter(files__in=ready).order_by().values_list("owner", flat=True).distinct():
        theirs = ready.filter(project__in=Project.objects.filter(owner=owner).order_by().values("pk"))
        theirs.exclude(vectors_of=None).exclude(vectors_of=_model_of(owner)).update(vectors_of=None)
    ready.filter(vectors_of=None).exclude(vectors_problem="").update(held_until=None)


def _model_of(owner: int) -> str:
    """Return the provider's name of the owner's embedding model, or ""."""
    name = abilities.of_user(owner).embeds
    route = Route.objects.usable_for(name, owner).first() if name else None
    return route.provider_model if route else ""


def _claim() -> LibraryFile | None:
    now = timezone.now()
    due = LibraryFile.objects.ready().filter(vectors_of=None).filter(Q(held_until=None) | Q(held_until__lte=now))
    file = due.select_related("project").order_by("pk").first()
    if file is None:
        return None
    same = LibraryFile.objects.filter(pk=file.pk, held_until=file.held_until)
    return file if same.update(held_until=now + HOLD, vectors_problem="") else None


def _learn(file: LibraryFile) -> None:
    """Embed the next passages of a held file, and release it for its next turn."""
    owner = file.project.owner_id
    model = _model_of(owner)
    embedder = Embedder.of_user(owner, event_loop.Uninterrupted(), PATIENCE) if model else None
    passages = list(file.passages.exclude(vector__model=model)[:AT_ONCE]) if embedder else []
    row = LibraryFile.objects.filter(pk=file.pk)
    if not embedder or not passages:
        row.update(vectors_of=model, held_until=None)
        return
    people = Project.objects.rights([file.project_id])[file.project_id]
    try:
        made = embedder.for_person([passage.text[:LONGEST] for passage in passages], people)
        if made.model != model:
            raise NoEmbedding(f"{made.model} answered in place of {model}")
        _keep(passages, made)
        row.update(held_until=None)
    except NoEmbedding as error:
        logger.warning("file %s of a library is found by its words only: %s", file.pk, error)
        row.update(vectors_problem=str(error), held_until=timezone.now() + LATER)
    except IntegrityError:
        logger.info("file %s of a library was deleted while its vectors were made", file.pk)


def _keep(passages: Sequence[LibraryPassage], made: Embedded) -> None:
    rows = [
        PassageVector(passage=passage, model=made.model, values=vector.astype("float16").tobytes())
        for passage, vector in zip(passages, made.vectors, strict=True)
    ]
    PassageVector.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["passage"], update_fields=["model", "values"]
    )
