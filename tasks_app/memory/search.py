"""What a task may know of earlier ones, and the nearest of it for a question."""

from collections.abc import Sequence
from functools import lru_cache

from llm_app.call.llm_call import Runner
from tasks_app.memory import vectors
from tasks_app.models import ContextType, MemoryNote, MemoryNoteQuerySet, SessionMember
from tasks_app.reminders.on_event import LONGEST_INSTRUCTIONS
from tasks_app.run import TaskContext
from tasks_app.text.languages import STOP_WORDS
from tasks_app.text.retrieval import bm25, reciprocal_rank_fusion, terms_of
from tools_app.errors import ToolError
from tools_app.notes import Note, Passage, rendered

RECALLED = 5  # for the message that starts a task
CANDIDATES = 500  # notes that say any word of the question; of more, the newest
LONGEST_QUESTION = 4000  # characters
LONGEST_FILE = 200_000  # characters that are looked through
PASSAGE = 800  # characters, or a little more to the end of a line
_ASIDE = frozenset(
    ["a", "an", "i", "me", "my", "we", "us", "our", "in", "on", "at", "by", "do", "how", "be", "or", "if", "so", "as"]
)


def is_shared(context: TaskContext) -> bool:
    """Whether anyone but the task's own user can read its session."""
    members = SessionMember.objects.filter(session=context.session.pk)
    return context.session.owner_id != context.task.started_by_id or members.exists()


def readable(context: TaskContext) -> MemoryNoteQuerySet:
    """The notes that may be said in a task's session: where others read along, only the team's."""
    if context.session.off_record:
        return MemoryNote.objects.none()
    if is_shared(context):
        return MemoryNote.objects.of_team()
    return MemoryNote.objects.visible_to(context.task.started_by)


def nearest_by_words(notes: MemoryNoteQuerySet, question: str, most: int) -> list[Note]:
    """Those of `notes` whose words are nearest, best first."""
    terms = asked(question)
    return bm25(terms, _candidates(notes, terms), lambda note: terms_of(note.text), most)


def search(context: TaskContext, question: str, most: int, run: Runner) -> list[Note]:
    """The nearest notes that may be said in the session, by their words and by their meaning, best first."""
    notes = readable(context)
    return reciprocal_rank_fusion(
        [nearest_by_words(notes, question, CANDIDATES), _meant(context, notes, question, run)], most
    )


def recalled(context: TaskContext, instructions: str, run: Runner) -> str:
    """For the start of a task: the nearest notes and passages of the workspace's files; empty where none fits.

    `instructions` are those of AGENTS.md, of which the model reads the beginning anyway.
    """
    question = _message(context)
    if context.session.off_record or not (terms := asked(question)):
        return ""
    notes = readable(context)
    heartbeat = text_file(context, "HEARTBEAT.md")
    known: list[Note | Passage] = [*_candidates(notes, terms)]
    known += [Passage(path="HEARTBEAT.md", text=text) for text in _passages(heartbeat)]
    known += [Passage(path="AGENTS.md", text=text) for text in _passages(instructions[LONGEST_INSTRUCTIONS:])]
    worded = bm25(terms, known, lambda each: terms_of(each.text), len(known))
    rankings: list[Sequence[Note | Passage]] = [worded, _meant(context, notes, question, run)]
    best = reciprocal_rank_fusion(rankings, RECALLED)
    return rendered(best) if best else ""


def text_file(context: TaskContext, path: str) -> str:
    """Redacted before anything is cut out of it; empty where there is no such file that can be read."""
    try:
        text = context.workspace.read_bytes(path).decode(errors="replace")
    except (ToolError, OSError):
        return ""
    return context.secrets.redactor.redacted(text[:LONGEST_FILE])


def asked(question: str) -> list[str]:
    """The terms of a question that say what it is about."""
    said = dict.fromkeys(terms_of(question[:LONGEST_QUESTION]))
    return [term for term in said if term not in STOP_WORDS and term not in _ASIDE]


def as_read(row: MemoryNote) -> Note:
    return Note(number=row.pk, text=row.text, of="person" if row.owner_id else "team", written=row.changed_at.date())


def _candidates(notes: MemoryNoteQuerySet, terms: Sequence[str]) -> list[Note]:
    return [as_read(row) for row in notes.with_any_term(terms)[:CANDIDATES]]


def _meant(context: TaskContext, notes: MemoryNoteQuerySet, question: str, run: Runner) -> list[Note]:
    return [as_read(row) for row in vectors.nearest_by_meaning(context, notes, question, run)]


def _message(context: TaskContext) -> str:
    entries = (entry for entry in reversed(context.history.entries) if entry.context_type == ContextType.USER_MESSAGE)
    return next((entry.content for entry in entries), "")


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
