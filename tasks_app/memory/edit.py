"""Editing of notes by people, for pages, REST and the admin. An agent's notes are saved with its tool's result."""

from collections.abc import Iterable
from typing import Any

from llm_app import active_secrets
from llm_app.redaction import Redactor
from tasks_app.models import MemoryNote, Project, Session
from tasks_app.models.errors import Refusal


class EmptyNote(Refusal):
    """The note is empty. Write a fact in a sentence or two."""

    status = 422


class NoteTooLong(Refusal):
    """A note may have at most 1,000 characters. Split it, or use a file."""

    status = 422


class MemoryFull(Refusal):
    """There are already 1,000 notes. Delete some that are no longer true."""


class NotesOfTheTeam(Refusal):
    """Only administrators write notes for the whole team."""

    status = 403


def add(author: Any, text: str, *, for_team: bool = False, project: Project | None = None) -> MemoryNote:
    """Create a note of the author, of a project in which they may write, or of the team.

    Raises EmptyNote, NoteTooLong, MemoryFull or NotesOfTheTeam.
    """
    if for_team and not author.is_staff:
        raise NotesOfTheTeam()
    owner = None if for_team or project else author
    text = checked(author, text, project)
    if MemoryNote.objects.filter(owner=owner, project=project).count() >= MemoryNote.MAX_PER_OWNER:
        raise MemoryFull()
    return MemoryNote.objects.create(owner=owner, project=project, text=text)


def change(note: MemoryNote, author: Any, text: str) -> MemoryNote:
    """Change a note's text. It no longer counts as captured automatically. Raises EmptyNote or NoteTooLong."""
    note.text, note.auto = checked(author, text, note.project), False
    note.save()
    return note


def checked(author: Any, text: str, project: Project | None = None) -> str:
    """Return the text in storable form, redacted. Raises EmptyNote or NoteTooLong."""
    if not (text := text.replace("\0", "").strip()):
        raise EmptyNote(field="text")
    if len(text := _redactor(author, {project.pk} if project else set()).redacted(text)) > MemoryNote.MAX_LENGTH:
        raise NoteTooLong(field="text")
    return text


def redacted_notes(reader: Any, notes: Iterable[MemoryNote]) -> list[MemoryNote]:
    """Redact notes for display, and hide tasks that the reader may not see. The notes must not be saved."""
    notes = list(notes)
    redactor = _redactor(reader, {note.project_id for note in notes if note.project_id})
    origins = {note.task.session_id for note in notes if note.task}
    seen = set(Session.objects.visible_to(reader).filter(pk__in=origins).values_list("pk", flat=True))
    for note in notes:
        note.text = redactor.redacted(note.text)
        if note.task and note.task.session_id not in seen:
            note.task = None
    return notes


def _redactor(person: Any, projects: set[Any]) -> Redactor:
    """Return a redactor for the secrets of the person and of the projects' people, who all read the notes."""
    return active_secrets.for_users({person.pk}.union(*Project.objects.rights(projects).values())).redactor


def redact(owner: Any, redactor: Redactor) -> None:
    """Redact notes that contain a new secret of `owner`, or of the team if it is None."""
    notes = MemoryNote.objects.all()
    if owner is not None:
        notes = notes.of_user(owner) | notes.of_projects(Project.objects.writable_by(owner))
    for note in notes:
        if (redacted := redactor.redacted(note.text)) != note.text:
            note.text = redacted
            note.save(update_fields=["text", "terms"])
