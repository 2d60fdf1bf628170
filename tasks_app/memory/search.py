"""Search in the memory that a task may use."""

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

RECALLED = 5  # items recalled at the start of a task
CANDIDATES = 500  # notes with any word of the question, newest first
LONGEST_QUESTION = 4000  # characters
LONGEST_FILE = 200_000  # characters that are searched
PASSAGE = 800  # characters
_any_note = Select(lambda: MemoryNote.objects.order_by().values_list("pk")[:1])
_ASIDE = frozenset(
    ["a", "an", "i", "me", "my", "we", "us", "our", "in", "on", "at", "by", "do", "how", "be", "or", "if", "so", "as"]
)


def is_shared(task: Task) -> bool:
    """Return whether anyone besides the task's user can currently read its session."""
    return Session.objects.get(pk=task.session_id).is_open_to_others(task.started_by)


def projects_of(task: Task) -> QuerySet[Project]:
    """Return the current project of the task's session, if the task's user can see it."""
    return Project.objects.visible_to(task.started_by).filter(sessions=task.session_id)


def _readable(task: Task) -> MemoryNoteQuerySet:
    """Return the notes that may appear in the task's session. Shared sessions get only the team's and the project's
    notes.
    """
    if task.session.off_record or not _any_note.rows():
        return MemoryNote.objects.none()
    notes = MemoryNote.objects.of_team() if is_shared(task) else MemoryNote.objects.visible_to(task.started_by)
    return notes | MemoryNote.objects.of_projects(projects_of(task))


def nearest_by_words(notes: MemoryNoteQuerySet, question: str, most: int) -> list[Note]:
    """Return the `notes` nearest by words, best first."""
    terms = asked(question)
    return bm25(terms, _candidates(notes, terms), lambda note: terms_of(note.text), most)


def search(unit: UnitOfWork, question: str, most: int, run: Runner) -> list[Note]:
    """Return the nearest notes that may appear in the session, by words and by meaning, best first."""
    notes = _readable(unit.task)
    return reciprocal_rank_fusion(
        [nearest_by_words(notes, question, CANDIDATES), _meant(unit, notes, question, run)], most
    )


def recalled(unit: UnitOfWork, workspace: Workspace, question: str, unread: str, run: Runner, longest: int) -> str:
    """Return notes and passages of workspace files near a person's message, up to `longest` bytes, or "".

    Excludes texts that the model still sees. `unread` is the part of AGENTS.md that the prompt omits.
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
    """Select items that fit. Longer ones remain available through the tool `memory`; a shorter one may still fit."""
    fitting: list[Note | Passage] = []
    for each in best:
        if (size := len(str(each).encode())) <= longest:
            fitting.append(each)
            longest -= size
    return fitting


def text_file(workspace: Workspace, path: str, redactor: Redactor) -> str:
    """Return a redacted text file, or "" if it cannot be read. Redaction precedes any cutting."""
    try:
        text = workspace.read_bytes(path).decode(errors="replace")
    except (ToolError, OSError):
        return ""
    return redactor.redacted(text[:LONGEST_FILE])


def asked(question: str) -> list[str]:
    """Return the significant terms of a question."""
    said = dict.fromkeys(terms_of(question[:LONGEST_QUESTION]))
    return [term for term in said if term not in STOP_WORDS and term not in _ASIDE]


def as_read(row: MemoryNote) -> Note:
    of: Any = "person" if row.owner_id else "team" if row.is_team else "project"
    return Note(number=row.pk, text=row.text, of=of, written=row.changed_at.date())


def _candidates(notes: MemoryNoteQuerySet, terms: Sequence[str]) -> list[Note]:
    if notes.query.is_empty():
        return []
    return [as_read(row) for row in notes.with_any_term(terms)[:CANDIDATES]]


def _meant(unit: UnitOfWork, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[Note]:
    return [as_read(row) for row in vectors.nearest_by_meaning(unit, notes, question, run)]


def new_words(entries: Sequence[ContextEntry]) -> str:
    """Return people's messages since the model's last reply, unless notes were already recalled for them."""
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
    """Split a text into whole lines of up to PASSAGE characters. Cached by text, so a changed file is split again."""
    parts: list[str] = []
    for line in text.splitlines(keepends=True):
        pieces = [line[begin : begin + PASSAGE] for begin in range(0, len(line), PASSAGE)]
        for piece in pieces:
            if parts and len(parts[-1]) + len(piece) <= PASSAGE:
                parts[-1] += piece
            else:
                parts.append(piece)
    return tuple(part.strip() for part in parts if part.strip())
