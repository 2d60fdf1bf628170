"""What waits for me: questions and approvals, over all my sessions."""

from django.http import HttpResponse
from django.shortcuts import render

from tasks_app import transcript
from tasks_app.views.access import Request, signed_in
from tasks_app.waiting import tasks_waiting_for


@signed_in
def show(request: Request) -> HttpResponse:
    tasks = tasks_waiting_for(request.user).select_related("session__owner")
    items = [transcript.newest_call(task.session) for task in tasks]
    waiting = [item for item in items if item is not None]
    return render(request, "inbox.html", {"waiting": waiting, "viewer": request.user, "may_write": True})
