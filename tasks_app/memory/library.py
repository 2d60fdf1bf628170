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
from tasks_app.memory.embedder import MIN_COSINE, Embedded, Embedder, NoEmbedding
from tasks_app.memory.search import significant_terms
from tasks_app.models import LibraryFile, LibraryPassage, PassageVector, Project, Session
from tasks_app.run import UnitOfWork
from tasks_app.runtime import event_loop
from tasks_app.runtime.cancellation import WorkAborted
from tasks_app.text.retrieval import bm25, reciprocal_rank_fusion, terms_of
from tools_app.errors import ToolError
from tools_app.notes import CitedPassage

MAX_RESULTS = 8
MAX_RANKED = 50  # passages of each ranking
MAX_CANDIDATES = 1000  # passages with any word of the question
MAX_COMPARED = 50_000  # vectors, newest first
COMPARE_BATCH = 1000
EMBED_BATCH = 32  # passages per call
MAX_EMBEDDED_CHARS = 2000  # characters of a passage that are embedded
EMBED_TIMEOUT = 30.0  # seconds per call
HOLD_DURATION = timedelta(seconds=90)
RETRY_DELAY = timedelta(minutes=5)  # delay after a failed call
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
    terms = significant_terms(question) or terms_of(question)
    candidates = list(passages.with_any_term(terms)[:MAX_CANDIDATES])
    by_words = bm25(terms, candidates, lambda row: terms_of(f"{row.file.name} {row.text}"), MAX_RANKED)
    rankings = [by_words, _by_meaning(unit, passages, question, run)]
    pages: dict[tuple[int, int], LibraryPassage] = {}  # the best passage of each
    for row in reciprocal_rank_fusion(rankings, 2 * MAX_RANKED):
        pages.setdefault((row.file_id, row.page), row)
    best_passages = list(pages.values())[:MAX_RESULTS]
    return [
        CitedPassage(file=row.file_id, name=row.file.name, unit=row.file.unit, page=row.page, text=row.text)
        for row in best_passages
    ]


def _by_meaning(
    unit: UnitOfWork, passages: QuerySet[LibraryPassage], question: str, run: Runner
) -> list[LibraryPassage]:
    """Return passages by meaning, best first. Empty without an embedding model, an answer or vectors."""
    embedder = Embedder.of_user(unit.task.started_by_id, run)
    vectors = PassageVector.objects.filter(passage__in=passages.values("pk"))
    if not embedder or not vectors.exists():
        return []
    try:
        passage_ids = _closest(vectors, embedder.for_task(unit, [question]))
    except NoEmbedding as error:
        logger.warning("could not embed a question, searching the library by words only: %s", error)
        return []
    except WorkAborted:
        return []
    rows = passages.in_bulk(passage_ids)
    return [rows[pk] for pk in passage_ids if pk in rows]


def _closest(vectors: QuerySet[PassageVector], question: Embedded) -> list[int]:
    """Return ids of passages by cosine (the product of vectors of length 1), in batches to limit memory."""
    import numpy as np

    ids = list(vectors.filter(model=question.model).order_by("-pk").values_list("pk", flat=True)[:MAX_COMPARED])
    question_vector, size = question.vectors[0], 2 * len(question.vectors[0])
    nearest: list[tuple[float, int]] = []
    for begin in range(0, len(ids), COMPARE_BATCH):
        stored = PassageVector.objects.filter(pk__in=ids[begin : begin + COMPARE_BATCH])
        rows = [(pk, values) for pk, values in stored.values_list("pk", "values") if len(values) == size]
        values = np.frombuffer(b"".join(values for _, values in rows), np.float16)
        values = values.reshape(len(rows), len(question_vector))
        cosines = values.astype(np.float32) @ question_vector
        nearest += [(float(cosine), pk) for cosine, (pk, _) in zip(cosines, rows, strict=True) if cosine >= MIN_COSINE]
        nearest = sorted(nearest, key=lambda pair: (-pair[0], pair[1]))[:MAX_RANKED]
    return [pk for _, pk in nearest]


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
            _recheck_files()
            self._version = version
        file = _claim()
        if file is not None:
            _embed_next(file)
        return file is not None


def _recheck_files() -> None:
    """Release files whose model may have changed, and files that are waiting after a failure."""
    ready = LibraryFile.objects.ready()
    for owner in Project.objects.filter(files__in=ready).order_by().values_list("owner", flat=True).distinct():
        files = ready.filter(project__in=Project.objects.filter(owner=owner).order_by().values("pk"))
        files.exclude(vectors_of=None).exclude(vectors_of=_model_of(owner)).update(vectors_of=None)
    ready.filter(vectors_of=None).exclude(vectors_problem="").update(held_until=None)


def _model_of(owner: int) -> str:
    """Return the provider's name of the owner's embedding model, or ""."""
    name = abilities.models_of_user(owner).embeds
    route = Route.objects.usable_for(name, owner).first() if name else None
    return route.provider_model if route else ""


def _claim() -> LibraryFile | None:
    now = timezone.now()
    due = LibraryFile.objects.ready().filter(vectors_of=None).filter(Q(held_until=None) | Q(held_until__lte=now))
    file = due.select_related("project").order_by("pk").first()
    if file is None:
        return None
    unchanged = LibraryFile.objects.filter(pk=file.pk, held_until=file.held_until)
    return file if unchanged.update(held_until=now + HOLD_DURATION, vectors_problem="") else None


def _embed_next(file: LibraryFile) -> None:
    """Embed the next passages of a held file, and release it for its next turn."""
    owner = file.project.owner_id
    model = _model_of(owner)
    embedder = Embedder.of_user(owner, event_loop.Uninterrupted(), EMBED_TIMEOUT) if model else None
    passages = list(file.passages.exclude(vector__model=model)[:EMBED_BATCH]) if embedder else []
    row = LibraryFile.objects.filter(pk=file.pk)
    if not embedder or not passages:
        row.update(vectors_of=model, held_until=None)
        return
    people = Project.objects.rights([file.project_id])[file.project_id]
    try:
        embedded = embedder.for_person([passage.text[:MAX_EMBEDDED_CHARS] for passage in passages], people)
        if embedded.model != model:
            raise NoEmbedding(f"{embedded.model} answered in place of {model}")
        _save_vectors(passages, embedded)
        row.update(held_until=None)
    except NoEmbedding as error:
        logger.warning("could not embed library file %s, it is searched by words only (retrying): %s", file.pk, error)
        row.update(vectors_problem=str(error), held_until=timezone.now() + RETRY_DELAY)
    except IntegrityError:
        logger.info("library file %s was deleted while it was embedded", file.pk)


def _save_vectors(passages: Sequence[LibraryPassage], embedded: Embedded) -> None:
    rows = [
        PassageVector(passage=passage, model=embedded.model, values=vector.astype("float16").tobytes())
        for passage, vector in zip(passages, embedded.vectors, strict=True)
    ]
    PassageVector.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["passage"], update_fields=["model", "values"]
    )
