"""The model's view of a session: the context window, compacted history, and the exact request of each call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Sum
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from llm_app.models import UNPRICED, Blob, LLMCallStatus, LLMLog, LogicalModel
from llm_app.types import Purpose
from tasks_app.access import Request, may_see_llm_calls, signed_in, visible_session
from tasks_app.models import ContextCut, ContextEntry, Session, ToolCallLog
from tasks_app.models.errors import Refusal
from tasks_app.pages.responses import refused
from tasks_app.record import Cut, redactor_of, transcript
from tasks_app.replay import sent
from tasks_app.replay.readable import RequestItem, compare, outline_lines

ENTRIES_AFTER = 40  # shown after a linked entry
MAX_LINES = 1_000  # of an outline, the newest ones
PARTS_PER_PAGE = 100  # of unchanged messages
REQUESTS_PER_PAGE = 25


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """Tokens `used` by the newest request and its reply, and tokens read from the provider's cache."""

    used: int
    window: int
    cached: int
    is_estimated: bool

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.used / self.window)) if self.window else 0

    @property
    def cached_percent(self) -> int:
        return round(100 * self.cached / self.used) if self.used else 0


@signed_in
@require_GET
def show(request: Request, session_id: UUID) -> HttpResponse:
    """Show requests, newest first, and a cut. `?before=ID` shows older requests, `?cut=ID` an older cut."""
    session = visible_session(request.user, session_id)
    requests = _requests(session, request.GET.get("before", ""))
    cuts = list(ContextCut.objects.in_session(session))
    shown_cut = next((cut for cut in cuts if str(cut.pk) == request.GET.get("cut")), cuts[0] if cuts else None)
    context: dict[str, Any] = {
        "session": session,
        "gauge": gauge_of(session),
        "used": _totals(session),
        "requests": requests[:REQUESTS_PER_PAGE],
        "older": requests[REQUESTS_PER_PAGE - 1].pk if len(requests) > REQUESTS_PER_PAGE else None,
        "cuts": cuts,
        "chosen": shown_cut,
    }
    if shown_cut is not None:
        text = Blob.objects.get(pk=shown_cut.blob).content
        cut = Cut.from_text(shown_cut.seq, text, shown_cut.masked_with).redacted(redactor_of(session))
        context |= {"lines": list(outline_lines(cut.block))[-MAX_LINES:], "views": sorted(cut.views.items())}
    return render(request, "context.html", context)


def _requests(session: Session, before: str) -> list[LLMLog]:
    """Return the requests of a page and one more."""
    steps = LLMLog.objects.filter(session_id=session.pk, purpose=Purpose.STEP).order_by("-created_at")
    try:
        newest = steps.filter(pk=UUID(before)).first() if before else None
    except ValueError:
        newest = None
    return list((steps.filter(created_at__lt=newest.created_at) if newest else steps)[: REQUESTS_PER_PAGE + 1])


@signed_in
@require_GET
def entry(request: Request, session_id: UUID, seq: int) -> HttpResponse:
    """Redirect to the page of the conversation that has an entry."""
    session = visible_session(request.user, session_id)
    row = ContextEntry.objects.in_session(session).filter(seq=seq).first()
    if row is None:
        raise Http404()
    is_new = seq >= (transcript.newest_page(session).earlier or 0)
    page = "" if is_new else f"?before={seq + ENTRIES_AFTER}"
    return redirect(f"{session.get_absolute_url()}{page}#{transcript.item_of(row).id}")


def gauge_of(session: Session) -> Gauge | None:
    """Return the gauge, or None before the first reply or if the model was deleted."""
    answered = LLMLog.objects.filter(session_id=session.pk, purpose=Purpose.STEP, status=LLMCallStatus.SUCCEEDED)
    newest = answered.only("model", "input_tokens", "output_tokens", "cached_tokens", "usage_estimated").first()
    model = LogicalModel.objects.filter(name=newest.model).first() if newest else None
    if newest is None or model is None:
        return None
    return Gauge(
        used=newest.input_tokens + newest.output_tokens,
        window=model.context_window,
        cached=newest.cached_tokens,
        is_estimated=newest.usage_estimated,
    )


def _totals(session: Session) -> dict[str, object]:
    """Return the totals of all calls of the session. Calls without a price are not in the cost."""
    unpriced_calls = Count("pk", filter=UNPRICED)  # first, as the sums shadow the columns of these names
    sums = {name: Sum(name, default=0) for name in ("input_tokens", "cached_tokens", "output_tokens")}
    logs = LLMLog.objects.filter(session_id=session.pk)
    return logs.aggregate(unpriced_calls=unpriced_calls, **sums, cost_usd=Sum("cost_usd"))


@signed_in
@require_GET
def show_call(request: Request, session_id: UUID, call_id: UUID) -> HttpResponse:
    session = visible_session(request.user, session_id)
    call = _llm_call(session_id, call_id)
    try:
        sent_request = sent.sent_request(call)
    except Refusal as error:
        return refused(request, session, error)
    previous_call = sent.before(call)
    comparison = compare(_body_of(previous_call), sent_request.body)
    part_number = request.GET.get("piece", "")
    if part_number.isdecimal() and len(part_number) < 10:
        return _show_part(request, [*comparison.new, *comparison.kept], int(part_number))
    page_number = request.GET.get("page", "")
    page = min(int(page_number), 999) if page_number.isdecimal() and len(page_number) < 5 else 1
    unchanged = comparison.kept[::-1]
    context = {
        "session": session,
        "call": call,
        "before": previous_call,
        "after": sent.after(call),
        "new": comparison.new,
        "gone": comparison.gone,
        "kept": unchanged[(page - 1) * PARTS_PER_PAGE : page * PARTS_PER_PAGE],
        "kept_count": len(unchanged),
        "further": page + 1 if len(unchanged) > page * PARTS_PER_PAGE else None,
        "is_redacted": sent_request.is_redacted,
    }
    return render(request, "chat/call.html", context)


def _show_part(request: Request, parts: Sequence[RequestItem], number: int) -> HttpResponse:
    part = next((part for part in parts if part.number == number), None)
    if part is None:
        raise Http404()
    template = "chat/_piece.html" if request.htmx else "chat/piece.html"
    return render(request, template, {"piece": part})


@signed_in
@require_GET
def download_call(request: Request, session_id: UUID, call_id: UUID) -> HttpResponse:
    """Return the exact bytes of a request."""
    session = visible_session(request.user, session_id)
    try:
        body = sent.sent_request(_llm_call(session_id, call_id)).body
    except Refusal as error:
        return refused(request, session, error)
    headers = {"Content-Disposition": f'attachment; filename="request-{call_id}.json"'}
    return HttpResponse(body, content_type="application/json", headers=headers)


@signed_in
@require_GET
def show_checks(request: Request, session_id: UUID, log_id: int) -> HttpResponse:
    """Show the results of checks and hooks of a tool call, to administrators."""
    session = visible_session(request.user, session_id)
    log = ToolCallLog.objects.filter(pk=log_id, session_id=session.pk).first()
    if log is None or not may_see_llm_calls(request.user):
        raise Http404()
    template = "chat/_checks.html" if request.htmx else "checks.html"
    return render(
        request, template, {"session": session, "log": log, "noted": redactor_of(session).redacted_json(log.remarks)}
    )


def _llm_call(session_id: UUID, call_id: UUID) -> LLMLog:
    call = LLMLog.objects.filter(pk=call_id, session_id=session_id).first()
    if call is None:
        raise Http404()
    return call


def _body_of(call: LLMLog | None) -> bytes | None:
    try:
        return sent.sent_request(call).body if call else None
    except Refusal:
        return None
