"""What a person says in a session: messages, answers, decisions, stop."""

from collections.abc import Callable
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from tasks_app import fragments, services, transcript, uploads
from tasks_app.errors import NothingToAnswer, Refusal
from tasks_app.models import Session, Task
from tasks_app.models.approval import Decision, Scope
from tasks_app.models.inbox import Mode
from tasks_app.views.access import Request, posted, signed_in, writable
from tasks_app.views.answers import done, refused
from tools_app.errors import ToolError


@signed_in
@require_POST
def post_message(request: Request, session_id: UUID) -> HttpResponse:
    session = writable(request, session_id)
    try:
        attachments = uploads.store(session, request.FILES.getlist("files"))
        mode = Mode.QUEUE if posted(request, "mode") == Mode.QUEUE else Mode.INTERJECT
        services.post_message(session, request.user, posted(request, "content"), attachments=attachments, mode=mode)
    except (Refusal, ToolError) as error:
        return refused(request, session, error)
    return done(request, f"{session.get_absolute_url()}#end")


@signed_in
@require_POST
def stop(request: Request, session_id: UUID) -> HttpResponse:
    session = writable(request, session_id)
    for task in session.tasks.active():
        services.stop(task)
    return done(request, session)


@signed_in
@require_POST
def reply(request: Request, session_id: UUID) -> HttpResponse:
    """The answer to the question that the form was about."""
    content, call_id = posted(request, "content"), posted(request, "call")
    return _answered(request, session_id, lambda task: services.reply(task, request.user, content, call_id=call_id))


@signed_in
@require_POST
def decide(request: Request, session_id: UUID) -> HttpResponse:
    """The word on the very call that the form showed."""
    decision, scope = posted(request, "decision"), posted(request, "scope") or Scope.ONCE
    if decision not in (Decision.APPROVED, Decision.REJECTED) or scope not in Scope.values:
        raise Http404()
    note, call_id = posted(request, "note"), posted(request, "call")
    return _answered(
        request,
        session_id,
        lambda task: services.decide(task, request.user, decision, note=note, scope=scope, call_id=call_id),
    )


def _answered(request: Request, session_id: UUID, answer: Callable[[Task], None]) -> HttpResponse:
    """Answers, once; htmx gets the call's item as it looks from now on."""
    session = writable(request, session_id)
    try:
        if (task := session.tasks.active().first()) is None or not posted(request, "call"):
            raise NothingToAnswer()
        answer(task)
    except Refusal as error:
        return refused(request, session, error, also=_item(request, session, oob=True))
    if request.htmx:
        return HttpResponse(_item(request, session))
    return redirect(f"{session.get_absolute_url()}#end")


def _item(request: Request, session: Session, *, oob: bool = False) -> str:
    item = transcript.call_item(session, posted(request, "call"))
    return fragments.entry(item, request.user, oob=oob) if item else ""
