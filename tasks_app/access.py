"""Access to sessions, tasks and projects by the ids of a request, and requests of signed-in users."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRedirect

from tasks_app.models import Project, Session, Task


class Request(HttpRequest):
    """A request of a signed-in user, with what our middleware adds."""

    user: Any
    htmx: Any


def signed_in(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Require a signed-in user; others return to the page after signing in. The response is never cached."""

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
    """Return a form field or "", with LF instead of CRLF and without NUL, which no database accepts."""
    return request.POST.get(name, "").replace("\r\n", "\n").replace("\0", "")


def visible_session(user: Any, session_id: UUID) -> Session:
    """Return the session. Raises Http404 unless the user owns it or it is shared with them."""
    session = Session.objects.find_visible(user, session_id)
    if session is None:
        raise Http404()
    return session


def is_visible(user: Any, session_id: UUID) -> bool:
    """Return whether the session exists for the user."""
    return Session.objects.find_visible(user, session_id) is not None


def writable_session(user: Any, session_id: UUID) -> Session:
    """Return the session. Raises Http404, or PermissionDenied if the user may only read."""
    session = visible_session(user, session_id)
    _require_writable(user, session)
    return session


def owned_session(user: Any, session_id: UUID) -> Session:
    """Return the session. Raises Http404, or PermissionDenied if the user does not own it."""
    session = visible_session(user, session_id)
    if session.owner_id != user.pk:
        raise PermissionDenied("Only its owner can delete a session.")
    return session


def visible_task(user: Any, task_id: UUID) -> Task:
    """Return the task. Raises Http404."""
    task = Task.objects.find_visible(user, task_id)
    if task is None:
        raise Http404()
    return task


def writable_task(user: Any, task_id: UUID) -> Task:
    """Return the task. Raises Http404 and PermissionDenied."""
    task = visible_task(user, task_id)
    _require_writable(user, task.session)
    return task


def visible_project(user: Any, project_id: UUID) -> Project:
    """Return the project. Raises Http404 unless the user owns it or is a member."""
    project = Project.objects.visible_to(user).select_related("owner", "agent").filter(pk=project_id).first()
    if project is None:
        raise Http404()
    return project


def writable_project(user: Any, project_id: UUID) -> Project:
    """Return the project. Raises Http404, or PermissionDenied if the user may only read."""
    project = visible_project(user, project_id)
    if not Project.objects.writable_by(user).filter(pk=project_id).exists():
        raise PermissionDenied("You have read-only access to this project.")
    return project


def owned_project(user: Any, project_id: UUID) -> Project:
    """Return the project. Raises Http404, or PermissionDenied if the user does not own it."""
    project = visible_project(user, project_id)
    if project.owner_id != user.pk:
        raise PermissionDenied("Only its owner shares and deletes a project.")
    return project


def may_write(user: Any, session: Session) -> bool:
    return session.owner_id == user.pk or Session.objects.find_writable(user, session.pk) is not None


def may_see_llm_calls(user: Any) -> bool:
    """Return whether the user may see LLM calls in the admin, with providers' answers.

    Queries the rights of staff again, because they may change while a page is open.
    """
    if not user.is_staff:
        return False
    staff = auth.get_user_model().objects.filter(pk=user.pk, is_active=True, is_staff=True).first()
    return staff is not None and staff.has_perm("llm_app.view_llmlog")


def _require_writable(user: Any, session: Session) -> None:
    if not may_write(user, session):
        raise PermissionDenied("You have read-only access to this session.")


class SignedOut(Exception):
    """The login of the page has ended."""


def require_signed_in(scope: Any) -> None:
    """Check the login against the database. Raises SignedOut after a sign-out, a new password or a closed account."""
    request: Any = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(scope["session"].session_key)
    user = auth.get_user(request)
    if not user.is_authenticated or user.pk != scope["user"].pk:
        raise SignedOut()
