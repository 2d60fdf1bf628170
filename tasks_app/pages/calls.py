"""What a model saw: the request of one call, and what is new in it since the call before."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from llm_app.models import LLMLog
from tasks_app.access import Request, signed_in, visible
from tasks_app.errors import Refusal
from tasks_app.pages.responses import refused
from tasks_app.replay import sent
from tasks_app.replay.readable import difference, parts_of


@signed_in
@require_GET
def show(request: Request, session_id: UUID, call_id: UUID) -> HttpResponse:
    session = visible(request, session_id)
    call = _call(session_id, call_id)
    try:
        found = sent.sent(call)
    except Refusal as error:
        return refused(request, session, error)
    context = {"session": session, "call": call, "parts": parts_of(found.body), "is_redacted": found.is_redacted}
    if before := sent.before(call):
        context |= {"before": before, "difference": _difference(before, found.body)}
    return render(request, "chat/call.html", context)


@signed_in
@require_GET
def download(request: Request, session_id: UUID, call_id: UUID) -> HttpResponse:
    """The very bytes."""
    session = visible(request, session_id)
    try:
        body = sent.sent(_call(session_id, call_id)).body
    except Refusal as error:
        return refused(request, session, error)
    headers = {"Content-Disposition": f'attachment; filename="request-{call_id}.json"'}
    return HttpResponse(body, content_type="application/json", headers=headers)


def _call(session_id: UUID, call_id: UUID) -> LLMLog:
    call = LLMLog.objects.filter(pk=call_id, session_id=session_id).first()
    if call is None:
        raise Http404()
    return call


def _difference(before: LLMLog, body: bytes) -> list[tuple[str, str]]:
    try:
        return list(difference(sent.sent(before).body, body))
    except Refusal:
        return []
