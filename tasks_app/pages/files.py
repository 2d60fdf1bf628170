"""Files of the workspace and their earlier versions. All paths are resolved by the Workspace."""

from typing import BinaryIO
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from tasks_app.access import Request, may_write, signed_in, visible_session, writable_session
from tasks_app.models import FileChange, Session
from tasks_app.models.errors import Refusal
from tasks_app.pages import fragments
from tasks_app.pages.markdown import PICTURES
from tasks_app.pages.responses import done, refused
from tasks_app.record import redactor_of
from tasks_app.workspace import downloads, file_history, uploads
from tasks_app.workspace.folders import workspace_of
from tools_app.errors import ToolError
from tools_app.files import as_text

DIAGRAM_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; sandbox allow-scripts; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
MAX_VERSIONS = 200  # on a page


@signed_in
def files(request: Request, session_id: UUID) -> HttpResponse:
    """Show the files panel, or with `?folder=PATH` one folder. A POST stores uploads."""
    if request.method != "POST":
        session = visible_session(request.user, session_id)
        folder = request.GET.get("folder", "")
        if not request.htmx:
            return redirect(f"{session.get_absolute_url()}?{urlencode({'files': folder})}#files")
        html = fragments.folder(session, request.user, folder) if folder else fragments.files(session, request.user)
        return HttpResponse(html)
    session = writable_session(request.user, session_id)
    try:
        uploads.store(session, request.FILES.getlist("files"))
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    return HttpResponse(fragments.files(session, request.user)) if request.htmx else done(request, session)


@signed_in
def delete(request: Request, session_id: UUID) -> HttpResponse:
    """Delete a file. Without scripts, a page asks for confirmation."""
    session = writable_session(request.user, session_id)
    path = request.GET.get("path", "")
    if request.method != "POST":
        return render(request, "question.html", {"session": session, "what": path, "back": session})
    try:
        uploads.delete(session, path)
    except ToolError as error:
        return refused(request, session, error, extra_html=fragments.files(session, request.user, oob=True))
    if request.htmx:
        return HttpResponse(fragments.files(session, request.user))
    return done(request, session, _("%(file)s is deleted.") % {"file": path})


@signed_in
@require_GET
def download(request: Request, session_id: UUID, path: str) -> HttpResponseBase:
    """Return a file. Only pictures are shown in the page, including deleted ones from the history."""
    name, is_picture = path.rpartition("/")[2], path.lower().endswith(PICTURES)
    try:
        file = _open_file(request, session_id, path)
    except Http404:
        if not is_picture:
            raise
        session = visible_session(request.user, session_id)
        version = FileChange.objects.versions_of(session).filter(path=path, after_mode=None).first()
        if version is None or not version.content.exists():
            return render(request, "deleted_picture.svg", {"name": name}, "image/svg+xml", 404)
        file = version.content.open("rb")
    return downloads.download(file, name, inline=is_picture)


@signed_in
@require_GET
def preview(request: Request, session_id: UUID, path: str) -> HttpResponseBase:
    """Return an HTML page of the agent, in a sandbox."""
    if not path.lower().endswith(".html"):
        raise Http404("Only HTML pages have a preview.")
    return downloads.preview(_open_file(request, session_id, path))


@require_GET
def diagram(request: HttpRequest) -> HttpResponse:
    """Return the frame that draws a diagram: opaque origin, our scripts only. The page sends it the source."""
    response = render(request, "diagram.html")
    headers = {"Content-Security-Policy": DIAGRAM_POLICY, "X-Frame-Options": "SAMEORIGIN"}
    for name, value in headers.items():
        response[name] = value
    return response


def _open_file(request: Request, session_id: UUID, path: str) -> BinaryIO:
    try:
        return workspace_of(visible_session(request.user, session_id)).open_for_read(path)
    except ToolError as error:
        raise Http404(str(error)) from error


@signed_in
@require_GET
def show_versions(request: Request, session_id: UUID) -> HttpResponse:
    session = visible_session(request.user, session_id)
    redactor = redactor_of(session)
    versions = FileChange.objects.versions_of(session)[:MAX_VERSIONS]
    rows = [(version, as_text(redactor.redacted(version.path))) for version in versions]
    history = file_history.history_of(workspace_of(session))
    look = history.load()
    left_out = [as_text(redactor.redacted(folder)) for folder in look.snapshot.left_out] if look else []
    context = {"session": session, "versions": rows, "may_write": may_write(request.user, session)}
    return render(request, "versions.html", {**context, "left_out": left_out, "bounds": history.bounds})


@signed_in
@require_GET
def download_version(request: Request, session_id: UUID, version_id: int) -> HttpResponseBase:
    session = visible_session(request.user, session_id)
    version = _version(session, version_id)
    name = redactor_of(session).redacted(version.path).rpartition("/")[2]
    return downloads.download(version.content.open("rb"), name)


@signed_in
@require_POST
def restore_version(request: Request, session_id: UUID, version_id: int) -> HttpResponse:
    session = writable_session(request.user, session_id)
    version = _version(session, version_id)
    try:
        file_history.undo(version.change, [version.path])
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    message = _("%(file)s has been restored.") % {"file": as_text(redactor_of(session).redacted(version.path))}
    return done(request, session, message)


def _version(session: Session, version_id: int) -> FileChange:
    version = FileChange.objects.versions_of(session).filter(pk=version_id).first()
    if version is None or not version.content.exists():
        raise Http404()
    return version
