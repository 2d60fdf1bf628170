"""A session's page."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from tasks_app.access import Request, signed_in, visible
from tasks_app.models import Agent, Session, Workflow
from tasks_app.pages import file_tree, fragments, models
from tasks_app.pages.home import newest_sessions
from tasks_app.transcript import transcript

NEIGHBOURS = 30  # sessions beside the one that is open


@signed_in
def show(request: Request, session_id: UUID) -> HttpResponse:
    """The newest items; with `?before=SEQ` those before an entry, which htmx gets alone."""
    session = visible(request, session_id)
    before = request.GET.get("before", "")
    page = transcript.newest(session, before=int(before) if before.isdecimal() and len(before) < 10 else None)
    context = {**fragments.now(session, request.user), "page": page}
    if request.htmx and not request.htmx.history_restore_request:
        return render(request, "chat/_items.html", context)
    context |= {
        "tree": file_tree.of(session),
        "parent": Session.objects.visible_to(request.user).filter(pk__in=[session.parent_id]).first(),
        "models": models.choices(request.user, session),
        "agents": Agent.objects.all(),
        "workflows": Workflow.objects.usable(),
        "neighbours": _neighbours(request, session),
    }
    return render(request, "chat/chat.html", context)


def _neighbours(request: Request, session: Session) -> list[Session]:
    """The newest sessions, and the open one if it is none of them: its state moves with the page."""
    sessions = newest_sessions(request.user)
    newest = list(sessions[:NEIGHBOURS])
    return newest if session in newest else [*newest, sessions.get(pk=session.pk)]
