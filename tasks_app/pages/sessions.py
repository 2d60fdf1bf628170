"""A session itself: its title, its model, its end."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from tasks_app import services
from tasks_app.access import Request, owned, posted, signed_in, writable
from tasks_app.errors import Refusal
from tasks_app.pages import choices, models
from tasks_app.pages.responses import done, refused


@signed_in
@require_POST
def change(request: Request, session_id: UUID) -> HttpResponse:
    """Takes `title`, `model` and `agent`, of which each may be missing; no model means the default one."""
    session = writable(request, session_id)
    changes: dict[str, object] = {}
    if title := " ".join(posted(request, "title").split()):
        changes["title"] = title[:200]
    if "model" in request.POST:
        changes["model"] = models.chosen(request, session)
    if "agent" in request.POST:
        changes["agent"] = choices.agent(request)
    services.change_session(session, **changes)
    return done(request, session)


@signed_in
def delete(request: Request, session_id: UUID) -> HttpResponse:
    """Asks first."""
    session = owned(request, session_id)
    if request.method != "POST":
        return render(
            request, "question.html", {"session": session, "what": f"the session “{session}”", "back": session}
        )
    try:
        services.delete_session(session)
    except Refusal as error:
        return refused(request, session, error)
    return done(request, "home", f"“{session}” is deleted.")
