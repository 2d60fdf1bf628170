"""A conversation goes another way: in a new session, which people come to."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from tasks_app.access import Request, posted, signed_in, visible
from tasks_app.errors import Refusal
from tasks_app.models import Session
from tasks_app.pages.responses import refused
from tasks_app.services import forks
from tools_app.errors import ToolError


@signed_in
@require_POST
def fork(request: Request, session_id: UUID) -> HttpResponse:
    """From the entry `seq`; with `again`, its message is sent anew, with `content` in its place if there is some."""
    origin = visible(request, session_id)
    if not (seq := posted(request, "seq")).isdecimal() or len(seq) > 9:
        raise Http404()
    try:
        copy = _made(request, origin, int(seq))
    except (Refusal, ToolError) as error:
        return refused(request, origin, error)
    address = f"{copy.get_absolute_url()}#end"
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


def _made(request: Request, origin: Session, seq: int) -> Session:
    if posted(request, "again"):
        return forks.send_again(origin, seq, request.user, posted(request, "content"))
    return forks.fork(origin, seq, request.user)
