"""The inbox: questions in the user's sessions, and calls that the user may approve, also in other people's sessions."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from llm_app.sql import cached_sql, fetch_all
from tasks_app import services
from tasks_app.access import Request, signed_in
from tasks_app.models import Approval, Decision, Session, Task, TaskState
from tasks_app.models.errors import Refusal
from tasks_app.pages.chat import DecisionForm
from tasks_app.pages.responses import done, refused
from tasks_app.pages.sessions import CHANGED
from tasks_app.record import transcript
from tasks_app.run.next_task import all_waiting_for

MAX_NOTIFICATIONS = 50
_LATEST = timedelta(minutes=10)
_ENDED = {TaskState.DONE: gettext_lazy("Done"), TaskState.FAILED: gettext_lazy("Failed")}


@signed_in
def show(request: Request) -> HttpResponse:
    tasks = all_waiting_for(request.user)
    visible_ids = _visible_session_ids(request.user, tasks)
    items = [item for task in tasks if (item := transcript.newest_call(task.session)) is not None]
    context = {
        "waiting": [item for item in items if item.entry.session_id in visible_ids],
        "foreign": [item for item in items if item.entry.session_id not in visible_ids and item.needs_approval],
        "viewer": request.user,
        "may_write": True,
    }
    return render(request, "inbox.html", context)


@signed_in
def notifications(request: Request) -> HttpResponse:
    """Return waiting items and recently ended tasks, for browser notifications."""
    own_tasks = Task.objects.without_copies().filter(started_by=request.user, parent_call=None, stopped=False)
    ended = own_tasks.filter(ended_at__gt=timezone.now() - _LATEST)
    tasks = [*all_waiting_for(request.user), *ended.select_related("session")][:MAX_NOTIFICATIONS]
    visible_ids = _visible_session_ids(request.user, tasks)
    return JsonResponse({"news": [_notification(task, is_mine=task.session_id in visible_ids) for task in tasks]})


@cached_sql
def _visible_keys(user: Any, sessions: Collection[UUID]) -> list[UUID]:
    return fetch_all(Session.objects.visible_to(user).filter(pk__in=sessions).order_by().values_list("pk", flat=True))


def _visible_session_ids(user: Any, tasks: Iterable[Task]) -> set[UUID]:
    """Return the ids of the tasks' sessions that the user can see."""
    return set(_visible_keys(user, {task.session_id for task in tasks}))


def _notification(task: Task, *, is_mine: bool) -> dict[str, str]:
    """Return a notification. An approver who cannot see the session learns only that a call waits."""
    body = _ENDED[TaskState(task.state)] if task.ended_at else _("Waits for you")
    address = task.session.get_absolute_url() if is_mine else reverse("inbox")
    title = str(task.session) if is_mine else _("A call waits for your approval")
    return {"id": f"{task.pk}:{task.state}:{task.iteration}", "title": title, "body": str(body), "address": address}


@signed_in
@require_POST
def decide(request: Request, approval_id: int) -> HttpResponse:
    """Decide on a call as an approver who may not see its session."""
    approvals = Approval.objects.decidable_by(request.user).select_related("tool_call__task__session")
    if (approval := approvals.filter(pk=approval_id).first()) is None:
        raise Http404()
    form = DecisionForm.from_request(request)
    try:
        services.decide(approval.tool_call.task, request.user, call_id=approval.tool_call.call_id, **vars(form))
    except Refusal as error:
        return refused(request, "inbox", error)
    was_approved = form.decision == Decision.APPROVED
    message = _("Approved. The call runs now.") if was_approved else _("Rejected. The agent has been told.")
    if request.htmx:
        return trigger_client_event(render(request, "chat/_foreign_decided.html", {"said": message}), CHANGED)
    return done(request, "inbox", message)
