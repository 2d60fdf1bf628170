"""A project's library: its files, adding and deleting them, and the page of a file."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from tasks_app.access import Request, signed_in, visible_project, writable_project
from tasks_app.models import LibraryFile, Project
from tasks_app.models.errors import Refusal
from tasks_app.pages.responses import done, refused
from tasks_app.runtime import event_loop
from tasks_app.services import library
from tasks_app.services.projects import redacted
from tasks_app.workspace.downloads import HEADERS, download
from tools_app.documents import page_picture
from tools_app.errors import ToolError


@signed_in
def files(request: Request, project_id: UUID) -> HttpResponse:
    """Show the list, which polls while files are being read. A POST adds files."""
    if request.method != "POST":
        project = visible_project(request.user, project_id)
        if not request.htmx:
            return redirect(project)
        return render(request, "projects/_files.html", list_context(project, request.user))
    project = writable_project(request.user, project_id)
    try:
        library.add_files(project, request.user, request.FILES.getlist("files"))
    except Refusal as error:
        return refused(request, project, error)
    if request.htmx:
        return render(request, "projects/_files.html", list_context(project, request.user))
    return redirect(f"{project.get_absolute_url()}#library")


def list_context(project: Project, user: Any) -> dict[str, Any]:
    """Return the context of the list."""
    files = list(LibraryFile.objects.of_project(project).select_related("added_by"))
    rights = Project.objects.rights([project.pk]).get(project.pk, {})
    may_write = rights.get(user.pk, False)
    is_reading = any(file.state in (LibraryFile.State.WAITING, LibraryFile.State.READING) for file in files)
    return {"project": project, "files": files, "may_write": may_write, "is_reading": is_reading}


@signed_in
def delete(request: Request, file_id: int) -> HttpResponse:
    file = _visible_file(request, file_id)
    project = writable_project(request.user, file.project_id)
    if request.method != "POST":
        return render(request, "question.html", {"project": project, "what": file.name, "back": project})
    library.delete_file(file)
    return done(request, project, _("%(name)s is deleted.") % {"name": file.name})


@signed_in
@require_GET
def show(request: Request, file_id: int) -> HttpResponse:
    """Show one page of a file (from 1): its picture for a PDF, and its text."""
    file = _visible_file(request, file_id)
    number = request.GET.get("page", "1")
    page = int(number) if number.isdecimal() and len(number) < 10 else 1
    page = min(max(page, 1), max(file.count, 1))
    texts = file.passages.filter(page=page).values_list("text", flat=True)
    text = redacted(file.project, "\n".join(texts))
    context = {"file": file, "project": file.project, "page": page, "text": text}
    context |= {"before": page - 1, "after": page + 1 if page < file.count else 0}
    return render(request, "projects/file.html", context)


@signed_in
@require_GET
def picture(request: Request, file_id: int, page: int) -> HttpResponse:
    file = _visible_file(request, file_id)
    if not file.is_pdf or not 0 < page <= file.count:
        raise Http404()
    try:
        png = event_loop.submit(page_picture(file.read(), file.name, page)).result()
    except (ToolError, OSError) as error:
        raise Http404() from error
    return HttpResponse(png, content_type="image/png", headers=HEADERS | {"Cache-Control": "private, max-age=3600"})


@signed_in
@require_GET
def save(request: Request, file_id: int) -> HttpResponseBase:
    file = _visible_file(request, file_id)
    try:
        return download(file.open(), file.name)
    except OSError as error:
        raise Http404() from error


def _visible_file(request: Request, file_id: int) -> LibraryFile:
    file = LibraryFile.objects.visible_to(request.user).select_related("project__owner").filter(pk=file_id).first()
    if file is None:
        raise Http404()
    return file
