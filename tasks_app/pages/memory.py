"""The user's memory: notes for the user's tasks, and notes of the team."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from tasks_app.access import Request, posted, signed_in, visible_session, writable_project
from tasks_app.memory import edit
from tasks_app.models import MemoryNote, Project
from tasks_app.models.errors import Refusal
from tasks_app.pages.responses import done, refused


@signed_in
def show(request: Request) -> HttpResponse:
    notes = MemoryNote.objects.select_related("task__session")
    context = {
        "mine": edit.redacted_notes(request.user, notes.of_user(request.user)),
        "teams": edit.redacted_notes(request.user, notes.of_team()),
        "longest": MemoryNote.MAX_LENGTH,
    }
    return render(request, "memory.html", context)


@signed_in
@require_POST
def add(request: Request) -> HttpResponse:
    project = _posted_project(request)
    try:
        edit.add(request.user, posted(request, "text"), for_team=bool(posted(request, "team")), project=project)
    except Refusal as error:
        return refused(request, project or "memory", error)
    return done(request, project or "memory", _("Saved. New tasks get this note when it matches their message."))


def _posted_project(request: Request) -> Project | None:
    """Return the project whose page has the form.

    Raises: Http404, PermissionDenied.
    """
    project_id = posted(request, "project")
    try:
        return writable_project(request.user, UUID(project_id)) if project_id else None
    except ValueError as error:
        raise Http404() from error


@signed_in
@require_POST
def change(request: Request, note_id: int) -> HttpResponse:
    note = _editable(request, note_id)
    try:
        edit.change(note, request.user, posted(request, "text"))
    except Refusal as error:
        return refused(request, note.project or "memory", error)
    return done(request, note.project or "memory", _("Saved."))


@signed_in
@require_POST
def delete(request: Request, note_id: int) -> HttpResponse:
    note = _editable(request, note_id)
    note.delete()
    return done(request, note.project or "memory", _("The note is deleted."))


@signed_in
@require_POST
def undo(request: Request, session_id: UUID) -> HttpResponse:
    """Delete the notes that a call in the chat has saved for the user."""
    session = visible_session(request.user, session_id)
    own_notes = MemoryNote.objects.of_user(request.user)
    notes = own_notes | MemoryNote.objects.of_projects(Project.objects.writable_by(request.user))
    deleted = notes.filter(task__session=session, call_id=posted(request, "call")).delete()[0]
    return done(request, session, _("The note is deleted.") if deleted else _("This note no longer exists."))


def _editable(request: Request, note_id: int) -> MemoryNote:
    note = MemoryNote.objects.editable_by(request.user).filter(pk=note_id).first()
    if note is None:
        raise Http404()
    return note
