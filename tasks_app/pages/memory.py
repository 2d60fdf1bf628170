"""My memory: the notes that my tasks may get, and those of the team."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from tasks_app.access import Request, posted, signed_in, visible_session
from tasks_app.errors import Refusal
from tasks_app.memory import edit
from tasks_app.models import MemoryNote
from tasks_app.pages.responses import done, refused


@signed_in
def show(request: Request) -> HttpResponse:
    notes = MemoryNote.objects.select_related("task__session")
    context = {
        "mine": edit.redacted_notes(request.user, notes.of_user(request.user)),
        "teams": edit.redacted_notes(request.user, notes.of_team()),
        "longest": MemoryNote.LONGEST,
    }
    return render(request, "memory.html", context)


@signed_in
@require_POST
def add(request: Request) -> HttpResponse:
    try:
        edit.add(request.user, posted(request, "text"), for_team=bool(posted(request, "team")))
    except Refusal as error:
        return refused(request, "memory", error)
    return done(request, "memory", "Saved. New tasks get this note when it matches their message.")


@signed_in
@require_POST
def change(request: Request, note_id: int) -> HttpResponse:
    try:
        edit.change(_editable(request, note_id), request.user, posted(request, "text"))
    except Refusal as error:
        return refused(request, "memory", error)
    return done(request, "memory", "Saved.")


@signed_in
@require_POST
def delete(request: Request, note_id: int) -> HttpResponse:
    _editable(request, note_id).delete()
    return done(request, "memory", "The note is deleted.")


@signed_in
@require_POST
def undo(request: Request, session_id: UUID) -> HttpResponse:
    """Deletes what a call in the chat has remembered for me."""
    session = visible_session(request.user, session_id)
    notes = MemoryNote.objects.of_user(request.user).filter(task__session=session, call_id=posted(request, "call"))
    deleted, _ = notes.delete()
    return done(request, session, "The note is deleted." if deleted else "This note no longer exists.")


def _editable(request: Request, note_id: int) -> MemoryNote:
    note = MemoryNote.objects.editable_by(request.user).filter(pk=note_id).first()
    if note is None:
        raise Http404()
    return note
