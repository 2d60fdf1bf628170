"""Passages of the files of a session's project, for what a task asks."""

from tasks_app.memory.search import asked
from tasks_app.models import LibraryFile, LibraryPassage, Project, Session
from tasks_app.run import UnitOfWork
from tasks_app.text.retrieval import bm25, terms_of
from tools_app.errors import ToolError
from tools_app.notes import Cited

SHOWN = 8
CANDIDATES = 1000  # passages that say any word of the question


def search(unit: UnitOfWork, question: str) -> list[Cited]:
    """The nearest ones. What the session is in, and whether its task's person still sees that, is asked anew."""
    project = Session.objects.values_list("project", flat=True).get(pk=unit.session.pk)
    visible = Project.objects.visible_to(unit.task.started_by).filter(pk__in=[project])
    files = LibraryFile.objects.filter(project__in=visible.order_by().values("pk"))
    if not files.exists():
        raise ToolError("This session has no library.")
    terms = asked(question) or terms_of(question)
    named = LibraryPassage.objects.filter(file__in=files.values("pk")).select_related("file")
    found = bm25(terms, list(named.with_any_term(terms)[:CANDIDATES]), _terms, SHOWN)
    return [
        Cited(file=row.file_id, name=row.file.name, unit=row.file.unit, page=row.page, text=row.text) for row in found
    ]


def _terms(passage: LibraryPassage) -> list[str]:
    return terms_of(f"{passage.file.name} {passage.text}")
