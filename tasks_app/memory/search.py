"""What a task may know of earlier ones, and the nearest of it for a question."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from llm_app.call import Runner
from llm_app.redaction import Redactor
from llm_app.sql.composed_query import Select
from tasks_app.memory import vectors
from tasks_app.models import ContextEntry, ContextType, MemoryNote, MemoryNoteQuerySet, Project, Session, Task
from tasks_app.run import UnitOfWork
from tasks_app.text.languages import STOP_WORDS
from tasks_app.text.retrieval import bm25, reciprocal_rank_fusion, terms_of
from tools_app.errors import ToolError
from tools_app.files import Workspace
from tools_app.notes import Note, Passage, rendered

RECALLED = 5  # for the message that starts a task
CANDIDATES = 500  # notes that say any word of the question; of more, the newest
LONGEST_QUESTION = 4000  # characters
LONGEST_FILE = 200_000  # characters that are looked through
PASSAGE = 800  # characters, or a little more to the end of a line
_any_note = Select(lambda: MemoryNote.objects.order_by().values_list("pk")[:1])
_ASIDE = frozenset(
    ["a", "an", "i", "me", "my", "we", "us", "our", "in", "on", "at", "by", "do", "how", "be", "or", "if", "so", "as"]
)


def is_shared(task: Task) -> bool:
    """Whether anyone but the task's own user can read its session, as it is now."""
    return Session.objects.get(pk=task.session_id).is_open_to_others(task.started_by)


def projects_of(task: Task) -> QuerySet[Project]:
    """The one that its session is in now, if its person sees that."""
    return Project.objects.visible_to(task.started_by).filter(sessions=task.session_id)


def _readable(task: Task) -> MemoryNoteQuerySet:
    """The notes that may be said in a task's session: where others read along, only the team's and the project's."""
    if task.session.off_record or not _any_note.rows():
        return MemoryNote.objects.none()
    notes = MemoryNote.objects.of_team() if is_shared(task) else MemoryNote.objects.visible_to(task.started_by)
    return notes | MemoryNote.objects.of_projects(projects_of(task))


def nearest_by_words(notes: MemoryNoteQuerySet, question: str, most: int) -> list[Note]:
    """Those of `notes` whose words are nearest, best first."""
    terms = asked(question)
    return bm25(terms, _candidates(notes, terms), lambda note: terms_of(note.text), most)


def search(unit: UnitOfWork, question: str, most: int, run: Runner) -> list[Note]:
    """The nearest notes that may be said in the session, by their words and by their meaning, best first."""
    notes = _readable(unit.task)
    return reciprocal_rank_fusion(
        [nearest_by_words(notes, question, CANDIDATES), _meant(unit, notes, question, run)], most
    )


def recalled(unit: UnitOfWork, workspace: Workspace, question: str, unread: str, run: Runner, longest: int) -> str:
    """For what a person wrote: the nearest notes and passages of the workspace's files, up to `longest` bytes; empty
    where there is none.

    What the model was given and still sees is left out. `unread` is what it is not shown of AGENTS.md.
    """
    if unit.session.off_record or not (terms := asked(question)):
        return ""
    notes = _readable(unit.task)
    heartbeat = text_file(workspace, "HEARTBEAT.md", unit.secrets.redactor)
    known: list[Note | Passage] = [*_candidates(notes, terms)]
    known += [Passage(path="HEARTBEAT.md", text=text) for text in _passages(heartbeat)]
    known += [Passage(path="AGENTS.md", text=text) for text in _passages(unread)]
    worded = bm25(terms, known, lambda each: terms_of(each.text), len(known))
    rankings: list[Sequence[Note | Passage]] = [worded, _meant(unit, notes, question, run)]
    given = [entry.content for entry in unit.history.entries if entry.context_type == ContextType.SYSTEM_REMINDER]
    best = reciprocal_rank_fusion(rankings, RECALLED)
    new = [each for each in best if not any(str(each) in text for text in given)]
    fitting = _fitting(new, longest)
    return rendered(fitting) if fitting else ""


def _fitting(best: Sequence[Note | Passage], longest: int) -> list[Note | Passage]:
    """What is too long for the rest of the room is left to the tool `memory`; a shorter one may still fit."""
    fitting: list[Note | Passage] = []
    for each in best:
        if (size := len(str(each).encode())) <= longest:
            fitting.append(each)
            longest -= size
    return fitting


def text_file(workspace: Workspace, path: str, redactor: Redactor) -> str:
    """Redacted before anything is cut out of it; empty where there is no such file that can be read."""
    try:
        text = workspace.read_bytes(path).decode(errors="replace")
    except (ToolError, OSError):
        return ""
    return redactor.redacted(text[:LONGEST_FILE])


def asked(question: str) -> list[str]:
    """The terms of a question that say what it is about."""
    said = dict.fromkeys(terms_of(question[:LONGEST_QUESTION]))
    return [term for term in said if term not in STOP_WORDS and term not in _ASIDE]


def as_read(row: MemoryNote) -> Note:
    of: Any = "person" if row.owner_id else "team" if row.team else "project"
    return Note(number=row.pk, text=row.text, of=of, written=row.changed_at.date())


def _candidates(notes: MemoryNoteQuerySet, terms: Sequence[str]) -> list[Note]:
    if notes.query.is_empty():
        return []
    return [as_read(row) for row in notes.with_any_term(terms)[:CANDIDATES]]


def _meant(unit: UnitOfWork, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[Note]:
    return [as_read(row) for row in vectors.nearest_by_meaning(unit, notes, question, run)]


def new_words(entries: Sequence[ContextEntry]) -> str:
    """What people have written since the model's last reply, if no notes were looked for since."""
    words: list[str] = []
    for entry in reversed(entries):
        is_answer = entry.context_type == ContextType.TOOL_RESULT and "author" in entry.metadata
        if entry.context_type == ContextType.USER_MESSAGE or is_answer:
            words.append(entry.content)
        elif entry.role != "user" or entry.metadata.get("kind") in ("task_start", "recalled"):
            break
    return "\n\n".join(reversed(words))


@lru_cache(maxsize=32)
def _passages(text: str) -> tuple[str, ...]:
    """Whole lines, together up to PASSAGE characters. Kept by the text itself, so a changed file is read in anew."""
    parts: list[str] = []
    for line in text.splitlines(keepends=True):
        pieces = [line[begin : begin + PASSAGE] for begin in range(0, len(line), PASSAGE)]
        for piece in pieces:
            if parts and len(parts[-1]) + len(piece) <= PASSAGE:
                parts[-1] += piece
            else:
                parts.append(piece)
    return tuple(part.strip() for part in parts if part.strip())
