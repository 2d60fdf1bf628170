"""The home page: a form that starts a session, and the newest sessions."""

from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django_htmx.http import HttpResponseClientRedirect

from llm_app.sql import cached_sql, fetch_all
from tasks_app import services
from tasks_app.access import Request, posted, signed_in, writable_project
from tasks_app.models import Project, Session
from tasks_app.models.errors import Refusal
from tasks_app.pages import choices, provider
from tasks_app.pages.responses import earlier_submission, refused
from tasks_app.pages.sessions import not_archived
from tasks_app.workspace import uploads
from tools_app.errors import ToolError

SHOWN = 3  # sessions, above a link to all of them
EXAMPLES = (
    _("Show me what you can do"),
    _("Summarize the file I attach, and list what is unclear in it"),
    _("Write a small program that renames my photos by date, and test it"),
)


@cached_sql
def _newest_sessions(user: Any) -> list[Session]:
    return fetch_all(not_archived(user)[:SHOWN])


@signed_in
def home(request: Request) -> HttpResponse:
    """Show the home page. A POST starts a session with its first message."""
    if request.method == "POST":
        return _start(request)
    if "q" in request.GET:
        return redirect(f"{reverse('sessions')}?{request.GET.urlencode()}")
    agent_name = request.GET.get("agent")
    agent = choices.agent_named(request.user, agent_name) if agent_name else None
    context = {
        "sessions": _newest_sessions(request.user),
        "examples": EXAMPLES,
        "key": uuid4().hex,
        "chosen_agent": agent,
        **choices.form_choices(request.user, agent=agent),
        **provider.model_context(request.user),
    }
    return render(request, "home/home.html", context)


@signed_in
def keys(request: Request) -> HttpResponse:
    """Show the keyboard shortcuts, as a page or as a sheet for htmx."""
    return render(request, "home/keys.html", {"base": "sessions/_sheet.html" if request.htmx else "base.html"})


def _start(request: Request) -> HttpResponse:
    """Create a session with its first message, and delete it again if the message is refused."""
    fields: dict[str, Any] = {"agent": choices.chosen_agent(request)} if "agent" in request.POST else {}
    fields |= {"project": _posted_project(request), "off_record": bool(posted(request, "off_record"))}
    try:
        session = services.create_session(request.user, model=choices.chosen_model(request), **fields)
    except Refusal as error:
        return refused(request, "home", error)
    try:
        attachments = uploads.attach(session, request.FILES.getlist("files"))
        content, workflow = posted(request, "content"), choices.chosen_workflow(request)
        with transaction.atomic():
            # The session of an earlier submission of the same form, if there was one.
            row = earlier_submission(request, content, answer=str(session.pk))
            original = Session.objects.visible_to(request.user).filter(pk=str(row.answer)).first() if row else None
            if original is None:
                services.post_message(session, request.user, content, workflow=workflow, **attachments)
    except (Refusal, ToolError) as error:
        services.delete_session(session)
        return refused(request, "home", error)
    if original is not None:
        services.delete_session(session)
    target = original or session
    return HttpResponseClientRedirect(target.get_absolute_url()) if request.htmx else redirect(target)


def _posted_project(request: Request) -> Project | None:
    """Return the project whose page has the form.

    Raises: Http404, PermissionDenied.
    """
    project_id = request.GET.get("project")
    try:
        return writable_project(request.user, UUID(project_id)) if project_id else None
    except ValueError as error:
        raise Http404() from error
