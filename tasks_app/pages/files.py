"""The workspace's files: uploaded, downloaded, deleted. Every path goes through the Workspace."""

from typing import BinaryIO
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from tasks_app import downloads
from tasks_app.access import Request, signed_in, visible, writable
from tasks_app.errors import Refusal
from tasks_app.interaction import uploads
from tasks_app.pages import fragments
from tasks_app.pages.markdown import PICTURES
from tasks_app.pages.responses import done, refused
from tasks_app.workspaces import workspace_of
from tools_app.errors import ToolError


@signed_in
@require_POST
def upload(request: Request, session_id: UUID) -> HttpResponse:
    session = writable(request, session_id)
    try:
        uploads.store(session, request.FILES.getlist("files"))
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    return HttpResponse(fragments.files(session, request.user)) if request.htmx else done(request, session)


@signed_in
def delete(request: Request, session_id: UUID) -> HttpResponse:
    """Asks first, where the page could not."""
    session = writable(request, session_id)
    path = request.GET.get("path", "")
    if request.method != "POST":
        return render(request, "question.html", {"session": session, "what": path, "back": session})
    try:
        workspace_of(session).delete(path)
    except ToolError as error:
        return refused(request, session, error, also=fragments.files(session, request.user, oob=True))
    if request.htmx:
        return HttpResponse(fragments.files(session, request.user))
    return done(request, session, f"{path} is deleted.")


@signed_in
@require_GET
def download(request: Request, session_id: UUID, path: str) -> HttpResponseBase:
    """Pictures may be shown in the page; all else is only ever saved."""
    file = _open(request, session_id, path)
    return downloads.download(file, path.rpartition("/")[2], shown=path.lower().endswith(PICTURES))


@signed_in
@require_GET
def preview(request: Request, session_id: UUID, path: str) -> HttpResponseBase:
    """A page that the agent made, in a sandbox."""
    if not path.lower().endswith(".html"):
        raise Http404("Only pages have a preview.")
    return downloads.preview(_open(request, session_id, path))


def _open(request: Request, session_id: UUID, path: str) -> BinaryIO:
    try:
        return workspace_of(visible(request, session_id)).open_for_read(path)
    except ToolError as error:
        raise Http404(str(error)) from error
