"""What a person says in a session: messages, answers, decisions, stop."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from tasks_app import services
from tasks_app.access import Request, posted, signed_in, visible, writable
from tasks_app.errors import NothingToAnswer, Refusal
from tasks_app.interaction import uploads
from tasks_app.models import Approval, Session, Task
from tasks_app.models.approval import Decision, Scope
from tasks_app.models.inbox import Mode
from tasks_app.pages import choices, fragments
from tasks_app.pages.responses import done, refused
from tasks_app.transcript import transcript
from tools_app.errors import ToolError


@signed_in
@require_POST
def post_message(request: Request, session_id: UUID) -> HttpResponse:
    session = writable(request, session_id)
    try:
        attachments = uploads.store(session, request.FILES.getlist("files"))
        mode = Mode.QUEUE if posted(request, "mode") == Mode.QUEUE else Mode.INTERJECT
        content, workflow = posted(request, "content"), choices.workflow(request)
        services.post_message(session, request.user, content, attachments=attachments, mode=mode, workflow=workflow)
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
    session, content, call_id = writable(request, session_id), posted(request, "content"), posted(request, "call")
    return _answered(request, session, lambda task: services.reply(task, request.user, content, call_id=call_id))


@dataclass(frozen=True, kw_only=True)
class DecisionForm:
    """What the form of an approval says."""

    decision: str
    note: str
    scope: str

    @classmethod
    def of(cls, request: Request) -> "DecisionForm":
        """Raises Http404 for a form that we did not make."""
        decision, scope = posted(request, "decision"), posted(request, "scope") or Scope.ONCE
        if decision not in (Decision.APPROVED, Decision.REJECTED) or scope not in Scope.values:
            raise Http404()
        return cls(decision=decision, note=posted(request, "note"), scope=scope)


@signed_in
@require_POST
def decide(request: Request, session_id: UUID) -> HttpResponse:
    """The word on the very call that the form showed. Who has the role for it may only read otherwise."""
    word, call_id = DecisionForm.of(request), posted(request, "call")
    decidable = Approval.objects.decidable_by(request.user).filter(tool_call__task__session=session_id)
    session = visible(request, session_id) if decidable.exists() else writable(request, session_id)
    return _answered(request, session, lambda task: services.decide(task, request.user, call_id=call_id, **vars(word)))


def _answered(request: Request, session: Session, answer: Callable[[Task], None]) -> HttpResponse:
    """Answers, once; htmx gets the call's item as it looks from now on."""
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
