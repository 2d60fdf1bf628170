"""The URLs of REST below /api/v1/."""

from typing import Any

from django.http import Http404
from django.urls import path
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView

from tasks_app.api import (
    catalogue,
    changes,
    decisions,
    entries,
    files,
    messages,
    personal,
    projects,
    sessions,
    sharing,
    tasks,
    transfer,
    usage,
)

SESSION = "sessions/<uuid:session_id>"
PROJECT = "projects/<uuid:project_id>"
TASK = "tasks/<uuid:task_id>"

urlpatterns = [
    path("sessions/", sessions.SessionList.as_view(), name="api-sessions"),
    path("sessions/import/", transfer.Import.as_view(), name="api-import"),
    path(f"{SESSION}/export/", transfer.Export.as_view(), name="api-export"),
    path(f"{SESSION}/", sessions.SessionDetail.as_view(), name="api-session"),
    path(f"{SESSION}/members/", sharing.SessionMemberList.as_view(), name="api-session-members"),
    path(f"{SESSION}/members/<int:member_id>/", sharing.SessionMemberDetail.as_view(), name="api-session-member"),
    path(f"{SESSION}/links/", sharing.LinkList.as_view(), name="api-links"),
    path(f"{SESSION}/links/<int:link_id>/", sharing.LinkDetail.as_view(), name="api-link"),
    path("projects/", projects.ProjectList.as_view(), name="api-projects"),
    path(f"{PROJECT}/", projects.ProjectDetail.as_view(), name="api-project"),
    path(f"{PROJECT}/members/", sharing.ProjectMemberList.as_view(), name="api-project-members"),
    path(f"{PROJECT}/members/<int:member_id>/", sharing.ProjectMemberDetail.as_view(), name="api-project-member"),
    path(f"{PROJECT}/library/", projects.Library.as_view(), name="api-library"),
    path(f"{PROJECT}/library/<int:file_id>/", projects.LibraryDetail.as_view(), name="api-library-file"),
    path(f"{SESSION}/messages/", messages.MessageList.as_view(), name="api-messages"),
    path(f"{SESSION}/messages/<int:message_id>/", messages.WaitingMessage.as_view(), name="api-message"),
    path(f"{SESSION}/ports/<int:port>/start/", messages.ServerStart.as_view(), name="api-server-start"),
    path(f"{SESSION}/entries/", entries.EntryList.as_view(), name="api-entries"),
    path(f"{SESSION}/events/", entries.Events.as_view(), name="api-events"),
    path(f"{SESSION}/files/", files.FileList.as_view(), name="api-files"),
    path(f"{SESSION}/files/<path:path>", files.File.as_view(), name="api-file"),
    path(f"{SESSION}/versions/", files.VersionList.as_view(), name="api-versions"),
    path(f"{SESSION}/versions/<int:version_id>/", files.Version.as_view(), name="api-version"),
    path(f"{SESSION}/changes/", changes.ChangeList.as_view(), name="api-changes"),
    path("changes/<int:change_id>/diff/", changes.Diff.as_view(), name="api-change-diff"),
    path("changes/<int:change_id>/undo/", changes.Undo.as_view(), name="api-change-undo"),
    path("tasks/", tasks.TaskList.as_view(), name="api-tasks"),
    path(f"{TASK}/", tasks.TaskDetail.as_view(), name="api-task"),
    path(f"{TASK}/stop/", decisions.Stop.as_view(), name="api-stop"),
    path(f"{TASK}/reply/", decisions.Reply.as_view(), name="api-reply"),
    path(f"{TASK}/approval/", decisions.Approve.as_view(), name="api-approval"),
    path(f"{TASK}/fork/", transfer.Fork.as_view(), name="api-fork"),
    path(f"{TASK}/llm-calls/", usage.LLMCallList.as_view(), name="api-llm-calls"),
    path("llm-calls/<uuid:call_id>/request/", usage.LLMCallRequest.as_view(), name="api-llm-call-request"),
    path("agents/", catalogue.AgentList.as_view(), name="api-agents"),
    path("workflows/", catalogue.WorkflowList.as_view(), name="api-workflows"),
    path("approvals/", decisions.ApprovalList.as_view(), name="api-approvals"),
    path("approvals/<int:approval_id>/", decisions.ApprovalDetail.as_view(), name="api-approval-detail"),
    path("models/", catalogue.ModelList.as_view(), name="api-models"),
    path("tools/", catalogue.ToolList.as_view(), name="api-tools"),
    path("usage/", usage.UsageReport.as_view(), name="api-usage"),
    path("memory/", personal.NoteList.as_view(), name="api-memory"),
    path("memory/<int:note_id>/", personal.NoteDetail.as_view(), name="api-note"),
    path("secrets/", personal.SecretList.as_view(), name="api-secrets"),
    path("secrets/<str:name>/", personal.SecretDetail.as_view(), name="api-secret"),
]


class UnknownURL(APIView):
    """A view that answers every method with the problem 404."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not request.path.endswith("/"):
            raise NotFound("This URL does not exist. URLs end with a slash, except those of files.")
        raise Http404()
