"""Projects: the list, a project's page and its actions, and moving sessions between projects."""

from typing import Any
from uuid import UUID, uuid4

from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from tasks_app import services
from tasks_app.access import (
    Request,
    owned_project,
    posted,
    signed_in,
    visible_project,
    visible_session,
    writable_project,
)
from tasks_app.memory import edit
from tasks_app.models import Project, Session, with_filing
from tasks_app.models.errors import Refusal
from tasks_app.pages import choices, library
from tasks_app.pages.responses import done, refused
from tasks_app.services import sharing
from tasks_app.services.projects import redacted

ON_PAGE = 20  # sessions of a project


@signed_in
def show_all(request: Request) -> HttpResponse:
    """Show all projects. A POST creates one."""
    if request.method == "POST":
        try:
            project = services.create_project(request.user, name=posted(request, "name"))
        except Refusal as error:
            return refused(request, "projects", error)
        return redirect(project)
    projects = (
        Project.objects.visible_to(request.user).select_related("owner").annotate(session_count=Count("sessions"))
    )
    return render(request, "projects/projects.html", {"projects": projects})


@signed_in
@require_GET
def show(request: Request, project_id: UUID) -> HttpResponse:
    project = visible_project(request.user, project_id)
    project.name, project.instructions = redacted(project, project.name), redacted(project, project.instructions)
    number = request.GET.get("page", "1")
    page = int(number) if number.isdecimal() and 0 < len(number) < 6 else 1
    sessions = (
        with_filing(Session.objects.filter(project=project), request.user).with_newest_task().select_related("owner")
    )
    page_sessions = list(sessions[max(page - 1, 0) * ON_PAGE :][: ON_PAGE + 1])
    context = {
        **library.list_context(project, request.user),
        "members": project.memberships.select_related("user", "role").order_by("pk"),
        "sessions": page_sessions[:ON_PAGE],
        "page": page,
        "next": page + 1 if len(page_sessions) > ON_PAGE else None,
        "longest": Project.MAX_INSTRUCTIONS,
        "notes": edit.redacted_notes(request.user, project.notes.select_related("task__session")),
        "key": uuid4().hex,
    }
    return render(request, "projects/project.html", context | choices.form_choices(request.user, agent=project.agent))


@signed_in
@require_POST
def change(request: Request, project_id: UUID) -> HttpResponse:
    project = writable_project(request.user, project_id)
    fields: dict[str, Any] = {name: posted(request, name) for name in ("name", "instructions") if name in request.POST}
    if "agent" in request.POST:
        fields["agent"] = choices.chosen_agent(request, project.agent)
    try:
        services.change_project(project, **fields)
    except Refusal as error:
        return refused(request, project, error)
    return done(request, project, _("Saved. Running tasks read it before their next step."))


@signed_in
def delete(request: Request, project_id: UUID) -> HttpResponse:
    """Delete a project after a confirmation. Its sessions stay with their owners."""
    project = owned_project(request.user, project_id)
    if request.method != "POST":
        warning = _("Its sessions are kept, each by its owner; the other people of the project no longer see them.")
        subject = _("the project “%(name)s”") % {"name": project}
        question = {"project": project, "what": subject, "back": project, "said": warning}
        return render(request, "question.html", question)
    services.delete_project(project)
    return done(request, "projects", _("“%(name)s” is deleted.") % {"name": project.name})


@signed_in
def leave(request: Request, project_id: UUID) -> HttpResponse:
    project = visible_project(request.user, project_id)
    if request.method != "POST":
        return render(request, "projects/leave.html", {"project": project})
    try:
        sharing.leave_project(project, request.user)
    except Refusal as error:
        return refused(request, project, error)
    return done(request, "projects", _("You have left “%(name)s”.") % {"name": project.name})


@signed_in
def move(request: Request, session_id: UUID) -> HttpResponse:
    """Move a session into or out of a project. A page asks for confirmation if more people would see it."""
    session = visible_session(request.user, session_id)
    is_owner = session.owner_id == request.user.pk
    if not (is_owner or (session.project and session.project.owner_id == request.user.pk)):
        raise PermissionDenied(_("Only its owner moves a session."))
    projects = Project.objects.writable_by(request.user) if is_owner else Project.objects.none()
    context: dict[str, Any] = {
        "session": session,
        "projects": projects,
        "here": reverse("session_move", args=[session.pk]),
    }
    if request.method == "POST":
        project = _chosen_project(request, projects)
        new_reader_count = _count_new_readers(session, project) if project and not posted(request, "confirmed") else 0
        if not new_reader_count:
            return _move_session(request, session, project)
        warning = ngettext("One more person will see it.", "%(count)d more people will see it.", new_reader_count)
        context |= {"chosen": project, "says": warning % {"count": new_reader_count}}
    return render(
        request, "projects/move.html", context | {"base": "sessions/_sheet.html" if request.htmx else "base.html"}
    )


def _chosen_project(request: Request, projects: Any) -> Project | None:
    """Return the chosen project, or None to leave all projects.

    Raises: Http404.
    """
    project_id = posted(request, "project")
    if not project_id:
        return None
    project: Project | None = next((project for project in projects if str(project.pk) == project_id), None)
    if project is None:
        raise Http404()
    return project


def _count_new_readers(session: Session, project: Project) -> int:
    """Return how many people would newly see the session."""
    readers = Session.objects.filter(pk=session.pk).rights().get(session.pk, {})
    return len(Project.objects.rights([project.pk]).get(project.pk, {}).keys() - readers.keys())


def _move_session(request: Request, session: Session, project: Project | None) -> HttpResponse:
    try:
        services.move_session(session, project)
    except Refusal as error:
        return refused(request, session, error)
    if project:
        message = _("It is in the project “%(name)s” now.") % {"name": project}
    else:
        message = _("It is in no project now.")
    return done(request, project or "sessions", message)
