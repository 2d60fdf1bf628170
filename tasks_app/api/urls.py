"""REST, below /api/v1/."""

from django.urls import path

from tasks_app.api import (
    agents,
    approvals,
    catalogue,
    decisions,
    entries,
    events,
    files,
    forks,
    llm_calls,
    messages,
    personal,
    secrets,
    sessions,
    tasks,
    usage,
    versions,
)

SESSION = "sessions/<uuid:session_id>"
TASK = "tasks/<uuid:task_id>"

urlpatterns = [
    path("sessions/", sessions.SessionList.as_view(), name="api-sessions"),
    path(f"{SESSION}/", sessions.SessionDetail.as_view(), name="api-session"),
    path(f"{SESSION}/messages/", messages.MessageList.as_view(), name="api-messages"),
    path(f"{SESSION}/entries/", entries.EntryList.as_view(), name="api-entries"),
    path(f"{SESSION}/events/", events.Events.as_view(), name="api-events"),
    path(f"{SESSION}/files/", files.FileList.as_view(), name="api-files"),
    path(f"{SESSION}/files/<path:path>", files.File.as_view(), name="api-file"),
    path(f"{SESSION}/versions/", versions.VersionList.as_view(), name="api-versions"),
    path(f"{SESSION}/versions/<int:version_id>/", versions.Version.as_view(), name="api-version"),
    path("tasks/", tasks.TaskList.as_view(), name="api-tasks"),
    path(f"{TASK}/", tasks.TaskDetail.as_view(), name="api-task"),
    path(f"{TASK}/stop/", decisions.Stop.as_view(), name="api-stop"),
    path(f"{TASK}/reply/", decisions.Reply.as_view(), name="api-reply"),
    path(f"{TASK}/approval/", decisions.Approve.as_view(), name="api-approval"),
    path(f"{TASK}/fork/", forks.Fork.as_view(), name="api-fork"),
    path(f"{TASK}/llm-calls/", llm_calls.LLMCallList.as_view(), name="api-llm-calls"),
    path("llm-calls/<uuid:call_id>/request/", llm_calls.LLMCallRequest.as_view(), name="api-llm-call-request"),
    path("agents/", agents.AgentList.as_view(), name="api-agents"),
    path("workflows/", agents.WorkflowList.as_view(), name="api-workflows"),
    path("approvals/", approvals.ApprovalList.as_view(), name="api-approvals"),
    path("approvals/<int:approval_id>/", approvals.ApprovalDetail.as_view(), name="api-approval-detail"),
    path("models/", catalogue.ModelList.as_view(), name="api-models"),
    path("tools/", catalogue.ToolList.as_view(), name="api-tools"),
    path("usage/", usage.Usage.as_view(), name="api-usage"),
    path("memory/", personal.NoteList.as_view(), name="api-memory"),
    path("memory/<int:note_id>/", personal.NoteDetail.as_view(), name="api-note"),
    path("secrets/", secrets.SecretList.as_view(), name="api-secrets"),
    path("secrets/<str:name>/", secrets.SecretDetail.as_view(), name="api-secret"),
]
