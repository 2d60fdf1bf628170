"""Search in the memory that a task may use."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django.db.models import QuerySet

from llm_app.call import Runner
from llm_app.redaction import Redactor
from tasks_app.memory import vectors
from tasks_app.models import ContextEntry, ContextType, MemoryNote, MemoryNoteQuerySet, Project, Session, Task
from tasks_app.run import UnitOfWork
from tasks_app.text.languages import STOP_WORDS
from tasks_app.text.retrieval import bm25, reciprocal_rank_fusion, terms_of
from tools_app.errors import ToolError
from tools_app.files import Workspace, decode_text
from tools_app.notes import Note, Passage, rendered

MAX_RECALLED = 5  # items recalled at the start of a task
MAX_CANDIDATES = 500  # notes with any word of the question, newest first
MAX_QUESTION_CHARS = 4000  # characters
MAX_ALWAYS_BYTES = 2000  # about 500 tokens: notes of up to this size together are all recalled
MAX_FILE_CHARS = 200_000  # characters that are searched
PASSAGE_CHARS = 800  # characters
_MINOR_WORDS = """
    a an i me my we us our he him his she her its they them their who whom whose when where why how in on at by into
    than then but do does did done has had was were been be am will would should could may might or if so as all any
    some let about want need make get give tell show also just now here these those other more
    am im um an bei aus nach vor von vom zum zur als wenn dann wie wer wo hat habe haben wird werden kann soll muss mal
    doch nur aber oder so mir mich dir dich uns euch ihr er man mein meine dein deine einen einem einer eines
"""
_IGNORED_TERMS = frozenset(terms_of(" ".join([_MINOR_WORDS, *STOP_WORDS])))  # as terms, without a plural s


def is_shared(task: Task) -> bool:
    """Return whether anyone besides the task's user can currently read its session."""
    return Session.objects.get(pk=task.session_id).is_open_to_others(task.started_by)


def projects_of(task: Task) -> QuerySet[Project]:
    """Return the current project of the task's session, if the task's user can see it."""
    return Project.objects.visible_to(task.started_by).filter(sessions=task.session_id)


def _visible_notes(task: Task) -> MemoryNoteQuerySet:
    """Return the notes that may appear in the task's session. Shared sessions get only the team's and the project's
    notes.
    """
    if task.session.off_record or MemoryNote.objects.any_key() is None:
        return MemoryNote.objects.none()
    notes = MemoryNote.objects.of_team() if is_shared(task) else MemoryNote.objects.visible_to(task.started_by)
    return notes | MemoryNote.objects.of_projects(projects_of(task))


def nearest_by_words(notes: MemoryNoteQuerySet, question: str, limit: int) -> list[Note]:
    """Return the `notes` nearest by words, best first."""
    terms = significant_terms(question)
    return bm25(terms, _candidates(notes, terms), lambda note: terms_of(note.text), limit)


def search(unit: UnitOfWork, question: str, limit: int, run: Runner) -> list[Note]:
    """Return the nearest notes that may appear in the session, by words and by meaning, best first."""
    notes = _visible_notes(unit.task)
    return reciprocal_rank_fusion(
        [nearest_by_words(notes, question, MAX_CANDIDATES), _by_meaning(unit, notes, question, run)], limit
    )


def recall(
    unit: UnitOfWork, workspace: Workspace, question: str, unread: Passage | None, run: Runner, max_bytes: int
) -> str:
    """Return notes and passages of workspace files near a person's message, up to `max_bytes`, or "".

    Few notes are all returned, since standing preferences hold for messages that do not mention them. Excludes texts
    that the model still sees. `unread` is the part of the instructions that the reminder omits.
    """
    if unit.session.off_record:
        return ""
    terms, notes = significant_terms(question), _visible_notes(unit.task)
    always = _few_notes(notes)
    if not terms and not always:
        return ""
    heartbeat = text_file(workspace, "HEARTBEAT.md", unit.secrets.redactor)
    candidates: list[Note | Passage] = [*_candidates(notes, terms)]
    candidates += [Passage(path="HEARTBEAT.md", text=text) for text in _passages(heartbeat)]
    if unread:
        candidates += [Passage(path=unread.path, text=text) for text in _passages(unread.text)]
    by_words = bm25(terms, candidates, lambda item: terms_of(item.text), len(candidates))
    rankings: list[Sequence[Note | Passage]] = [by_words, _by_meaning(unit, notes, question, run)]
    reminder_texts = [
        entry.content for entry in unit.history.entries if entry.context_type == ContextType.SYSTEM_REMINDER
    ]
    best = list(dict.fromkeys([*reciprocal_rank_fusion(rankings, MAX_RECALLED), *always]))
    new = [item for item in best if not any(str(item) in text for text in reminder_texts)]
    fitting: list[Note | Passage] = []
    for item in new:  # longer ones remain available through the tool `memory`
        size = len(str(item).encode())
        if size <= max_bytes:
            fitting.append(item)
            max_bytes -= size
    return rendered(fitting) if fitting else ""


def text_file(workspace: Workspace, path: str, redactor: Redactor) -> str:
    """Return a redacted text file, or "" if it cannot be read. Redaction precedes any cutting."""
    try:
        text = decode_text(workspace.read_bytes(path))
    except (ToolError, OSError):
        return ""
    return redactor.redacted(text[:MAX_FILE_CHARS])


def significant_terms(question: str) -> list[str]:
    """Return the significant terms of a question."""
    unique_terms = dict.fromkeys(terms_of(question[:MAX_QUESTION_CHARS]))
    return [term for term in unique_terms if term not in _IGNORED_TERMS]


def as_note(row: MemoryNote) -> Note:
    scope: Any = "person" if row.owner_id else "team" if row.team else "project"
    return Note(number=row.pk, text=row.text, of=scope, written=row.changed_at.date())


def _few_notes(notes: MemoryNoteQuerySet) -> list[Note]:
    """Return all the notes, newest first, or none if they are too long together."""
    if notes.query.is_empty():
        return []
    items = [as_note(row) for row in notes[: MAX_ALWAYS_BYTES // len("<note>")]]
    return items if sum(len(str(item).encode()) for item in items) <= MAX_ALWAYS_BYTES else []


def _candidates(notes: MemoryNoteQuerySet, terms: Sequence[str]) -> list[Note]:
    if notes.query.is_empty():
        return []
    return [as_note(row) for row in notes.with_any_term(terms)[:MAX_CANDIDATES]]


def _by_meaning(unit: UnitOfWork, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[Note]:
    return [as_note(row) for row in vectors.nearest_by_meaning(unit, notes, question, run)]


def new_messages(entries: Sequence[ContextEntry]) -> str:
    """Return people's messages since the model's last reply, unless notes were already recalled for them."""
    messages: list[str] = []
    for entry in reversed(entries):
        is_answer = entry.context_type == ContextType.TOOL_RESULT and "author" in entry.metadata
        if entry.context_type == ContextType.USER_MESSAGE or is_answer:
            messages.append(entry.content)
        elif entry.role != "user" or entry.metadata.get("kind") in ("task_start", "recalled"):
            break
    return "\n\n".join(reversed(messages))


@lru_cache(maxsize=32)
def _passages(text: str) -> tuple[str, ...]:
    """Split a text into whole lines of up to PASSAGE characters. Cached by text, so a changed file is split again."""
    passages: list[str] = []
    for line in text.splitlines(keepends=True):
        fragments = [line[begin : begin + PASSAGE_CHARS] for begin in range(0, len(line), PASSAGE_CHARS)]
        for fragment in fragments:
            if passages and len(passages[-1]) + len(fragment) <= PASSAGE_CHARS:
                passages[-1] += fragment
            else:
                passages.append(fragment)
    return tuple(passage.strip() for passage in passages if passage.strip())
