"""Who may see a page, and which session an address means."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRedirect

from tasks_app.models import Session


class Request(HttpRequest):
    """What our middleware makes of a request of somebody who is signed in."""

    user: Any
    htmx: Any


def signed_in(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Only for people who are signed in; others come back here after they are. Pages of people are never cached."""

    @never_cache
    @wraps(view)
    def inner(request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if request.htmx:
            page = urlsplit(request.htmx.current_url or "/").path
            return HttpResponseClientRedirect(redirect_to_login(page).url)
        return redirect_to_login(request.get_full_path() if request.method == "GET" else "/")

    return inner


def posted(request: Request, name: str) -> str:
    """A field of the form, or an empty text. Forms send lines with CRLF; and no database takes a NUL."""
    return request.POST.get(name, "").replace("\r\n", "\n").replace("\0", "")


def visible(request: Request, session_id: UUID) -> Session:
    """Raises Http404 for what is neither the user's own nor shared with them."""
    session = Session.objects.visible_to(request.user).select_related("owner", "model").filter(pk=session_id).first()
    if session is None:
        raise Http404()
    return session


def writable(request: Request, session_id: UUID) -> Session:
    """Raises Http404, and PermissionDenied where the user may only read."""
    session = visible(request, session_id)
    if not Session.objects.writable_by(request.user).filter(pk=session.pk).exists():
        raise PermissionDenied("This session is shared with you for reading only.")
    return session


def owned(request: Request, session_id: UUID) -> Session:
    """Raises Http404, and PermissionDenied where it is somebody else's."""
    session = visible(request, session_id)
    if session.owner != request.user:
        raise PermissionDenied("Only its owner can do this with a session.")
    return session
