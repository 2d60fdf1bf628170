"""What the model sees of a session: how full its window is, where the cut is, and what stands for what was cut."""

from typing import Any
from uuid import UUID

from django.db.models import Sum
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from llm_app.models import Blob, LLMLog
from tasks_app.access import Request, signed_in, visible
from tasks_app.models import ContextCut, ContextEntry, Session
from tasks_app.pages.context_usage import gauge_of
from tasks_app.record.cut import Cut
from tasks_app.record.session_secrets import redactor_of
from tasks_app.transcript import transcript
from tasks_app.transcript.outline import lines_of

BEHIND = 40  # entries shown behind one that is looked up
MOST = 1_000  # lines of an outline that are shown, the newest


@signed_in
@require_GET
def show(request: Request, session_id: UUID) -> HttpResponse:
    """The newest cut; with `?cut=ID` an earlier one."""
    session = visible(request, session_id)
    cuts = list(ContextCut.objects.of(session))
    chosen = next((cut for cut in cuts if str(cut.pk) == request.GET.get("cut")), cuts[0] if cuts else None)
    context: dict[str, Any] = {
        "session": session,
        "gauge": gauge_of(session),
        "used": _used(session),
        "cuts": cuts,
        "chosen": chosen,
    }
    if chosen is not None:
        cut = _readable(session, chosen)
        context |= {"lines": list(lines_of(cut.block))[-MOST:], "views": sorted(cut.views.items())}
    return render(request, "context.html", context)


@signed_in
@require_GET
def entry(request: Request, session_id: UUID, seq: int) -> HttpResponse:
    """Leads to where an entry stands in the conversation."""
    session = visible(request, session_id)
    found = ContextEntry.objects.of(session).filter(seq=seq).first()
    if found is None:
        raise Http404()
    page = "" if seq > session.last_seq - transcript.PAGE else f"?before={seq + BEHIND}"
    return redirect(f"{session.get_absolute_url()}{page}#{transcript.item_of(found).id}")


def _readable(session: Session, row: ContextCut) -> Cut:
    """As it was stored, without what has become secret since."""
    text = Blob.objects.get(pk=row.blob).content
    return Cut.read(row.seq, text, row.masked_with).redacted(redactor_of(session))


def _used(session: Session) -> dict[str, object]:
    """By all calls of the session; the cost of those whose price is known."""
    sums = {name: Sum(name, default=0) for name in ("input_tokens", "cached_tokens", "output_tokens")}
    return LLMLog.objects.filter(session_id=session.pk).aggregate(**sums, cost_usd=Sum("cost_usd"))
