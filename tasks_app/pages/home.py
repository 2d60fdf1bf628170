"""The home page: a form that starts a session, and the newest sessions."""

from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django_htmx.http import HttpResponseClientRedirect

from llm_app.sql.cached_sql import cached_sql, fetch_all
from tasks_app import services
from tasks_app.access import Request, posted, signed_in, writable_project
from tasks_app.models import Project, Session
from tasks_app.models.errors import Refusal
from tasks_app.pages import choices, provider
from tasks_app.pages.responses import refused, sent_before
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
    chosen = choices.agent_named(request.user, name) if (name := request.GET.get("agent")) else None
    offered = choices.offered(request.user, agent=chosen) | provider.panel(request.user)
    start = {"examples": EXAMPLES, "key": uuid4().hex, "chosen_agent": chosen, **offered}
    return render(request, "home/home.html", {"sessions": _newest_sessions(request.user), **start})


@signed_in
def keys(request: Request) -> HttpResponse:
    """Show the keyboard shortcuts, as a page or as a sheet for htmx."""
    return render(request, "home/keys.html", {"base": "sessions/_sheet.html" if request.htmx else "base.html"})


def _start(request: Request) -> HttpResponse:
    """Create a session with its first message, and delete it again if the message is refused."""
    fields: dict[str, Any] = {"agent": choices.chosen_agent(request)} if "agent" in request.POST else {}
    fields |= {"project": _project(request), "off_record": bool(posted(request, "off_record"))}
    try:
        session = services.create_session(request.user, model=choices.chosen_model(request), **fields)
    except Refusal as error:
        return refused(request, "home", error)
    try:
        attached = uploads.attach(session, request.FILES.getlist("files"))
        content, workflow = posted(request, "content"), choices.chosen_workflow(request)
        with transaction.atomic():
            first = _first(request, content, session)
            if first == session:
                services.post_message(session, request.user, content, workflow=workflow, **attached)
    except (Refusal, ToolError) as error:
        services.delete_session(session)
        return refused(request, "home", error)
    if first != session:
        services.delete_session(session)
    return HttpResponseClientRedirect(first.get_absolute_url()) if request.htmx else redirect(first)


def _project(request: Request) -> Project | None:
    """Return the project whose page has the form.

    Raises: Http404, PermissionDenied.
    """
    try:
        return writable_project(request.user, UUID(wanted)) if (wanted := request.GET.get("project")) else None
    except ValueError as error:
        raise Http404() from error


def _first(request: Request, content: str, session: Session) -> Session:
    """Return the session of an earlier submission of the same form, or this session if there was none."""
    row = sent_before(request, content, answer=str(session.pk))
    return (row and Session.objects.visible_to(request.user).filter(pk=str(row.answer)).first()) or session
