"""Which session or task a request means: every id that comes in goes through here."""

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework.exceptions import PermissionDenied

from tasks_app.models import Session, Task


def visible_session(user: Any, session_id: UUID) -> Session:
    """Raises Http404 for what is neither the user's own nor shared with them."""
    session = Session.objects.visible_to(user).filter(pk=session_id).first()
    if session is None:
        raise Http404()
    return session


def writable_session(user: Any, session_id: UUID) -> Session:
    """Raises Http404, and PermissionDenied where the user may only read."""
    session = visible_session(user, session_id)
    require_writable(user, session)
    return session


def visible_task(user: Any, task_id: UUID) -> Task:
    """Raises Http404."""
    task = Task.objects.visible_to(user).select_related("session").filter(pk=task_id).first()
    if task is None:
        raise Http404()
    return task


def writable_task(user: Any, task_id: UUID) -> Task:
    """Raises Http404 and PermissionDenied."""
    task = visible_task(user, task_id)
    require_writable(user, task.session)
    return task


def require_writable(user: Any, session: Session) -> None:
    if not Session.objects.writable_by(user).filter(pk=session.pk).exists():
        raise PermissionDenied("This session is shared with you for reading only.")
