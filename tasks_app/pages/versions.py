"""What files held before the agent changed them: listed, downloaded, put back."""

from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from tasks_app import downloads
from tasks_app.access import Request, signed_in, visible, writable
from tasks_app.engine.effects import versions
from tasks_app.models import FileVersion
from tasks_app.pages.responses import done, refused
from tools_app.errors import ToolError

MOST = 200  # shown


@signed_in
@require_GET
def show(request: Request, session_id: UUID) -> HttpResponse:
    session = visible(request, session_id)
    rows = FileVersion.objects.filter(session=session)[:MOST]
    may_write = type(session).objects.writable_by(request.user).filter(pk=session.pk).exists()
    return render(request, "versions.html", {"session": session, "versions": rows, "may_write": may_write})


@signed_in
@require_GET
def download(request: Request, session_id: UUID, version_id: int) -> HttpResponseBase:
    version = _version(visible(request, session_id).pk, version_id)
    return downloads.download(version.content.open("rb"), version.path.rpartition("/")[2])


@signed_in
@require_POST
def restore(request: Request, session_id: UUID, version_id: int) -> HttpResponse:
    session = writable(request, session_id)
    version = _version(session.pk, version_id)
    try:
        versions.restore(version)
    except ToolError as error:
        return refused(request, session, error)
    return done(request, session, f"{version.path} is as it was.")


def _version(session_id: UUID, version_id: int) -> FileVersion:
    version = FileVersion.objects.select_related("session").filter(session=session_id, pk=version_id).first()
    if version is None or not version.content.exists():
        raise Http404()
    return version
