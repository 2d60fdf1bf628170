"""The read-only admin of entries, tool calls, approvals, messages, workspace changes and loaded tools and skills."""

from django.contrib import admin
from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce, Left, NullIf
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from llm_app import active_secrets
from llm_app.redaction import seen_values
from tasks_app.admin.base import ReadOnlyAdmin, ReadOnlyInline, link_to_row, value_filter
from tasks_app.models import (
    Approval,
    ContextEntry,
    Decision,
    FileChange,
    InboxMessage,
    Loaded,
    Session,
    Task,
    ToolCallLog,
    WorkspaceChange,
)
from tools_app.models import DangerLevel

_BEGINNING_CHARS = 120
_LONG_COLUMNS = ("content", "thinking", "tool_call", "metadata")


def _with_beginnings(entries: QuerySet[ContextEntry]) -> QuerySet[ContextEntry]:
    """Annotate entries with the beginning of their content, or of their call, and load no more of it."""
    active_secrets.for_everyone()  # fills the cache, so that secrets are queried once and not for each row
    content = Coalesce(NullIf("content", Value("")), "tool_call")
    return entries.annotate(beginning=Left(content, _BEGINNING_CHARS)).defer(*_LONG_COLUMNS)


def _beginning(entry: ContextEntry) -> str:
    """Return the redacted beginning. The redaction of the page would miss a secret that is cut off at the end."""
    beginning: str = entry.beginning  # type: ignore[attr-defined]
    return seen_values.redactor().redacted_beginning(beginning)


class EntryInline(ReadOnlyInline):
    model = ContextEntry
    fields = ["seq", "context_type", "in_context", "content_start", "created_at"]
    readonly_fields = fields
    ordering = ["seq"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ContextEntry]:
        return _with_beginnings(super().get_queryset(request))

    @display(description="beginning")
    def content_start(self, entry: ContextEntry) -> str:
        return _beginning(entry)


@admin.register(ContextEntry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ["seq", "context_type", "in_context", "content_start", "in_session", "of_task", "created_at"]
    list_filter = ["context_type", "in_context"]
    search_fields = ["content", "tool_call"]  # answers of the agent are arguments of its calls

    def get_queryset(self, request: HttpRequest) -> QuerySet[ContextEntry]:
        return _with_beginnings(super().get_queryset(request)).select_related("session")

    @display(description="beginning")
    def content_start(self, entry: ContextEntry) -> str:
        return _beginning(entry)

    @display(description="session")
    def in_session(self, entry: ContextEntry) -> SafeString:
        return link_to_row(Session, entry.session_id, entry.session)

    @display(description="task")
    def of_task(self, entry: ContextEntry) -> SafeString:
        return link_to_row(Task, entry.task_id, str(entry.task_id)[:8])


class ToolCallInline(ReadOnlyInline):
    model = ToolCallLog
    fields = ["name", "status", "danger", "looped", "started_at", "duration_ms"]
    readonly_fields = fields
    ordering = ["pk"]


@admin.register(ToolCallLog)
class ToolCallAdmin(ReadOnlyAdmin):
    list_display = ["name", "status", "danger", "looped", "in_session", "of_task", "started_at", "duration_ms"]
    list_filter = ["status", value_filter("danger", lambda: DangerLevel.values), "looped"]
    search_fields = ["name", "call_id", "arguments"]

    @display(description="session")
    def in_session(self, call: ToolCallLog) -> SafeString:
        return link_to_row(Session, call.session_id, str(call.session_id)[:8])

    @display(description="task")
    def of_task(self, call: ToolCallLog) -> SafeString:
        return link_to_row(Task, call.task_id, str(call.task_id)[:8])


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    list_display = [
        "reason",
        "covers",
        "decision_label",
        "scope",
        "of_call",
        "danger",
        "decided_by",
        "decided_at",
        "created_at",
        "expires_at",
    ]
    list_filter = ["decision", "scope", value_filter("tool_call__danger", lambda: DangerLevel.values)]
    list_select_related = ["tool_call", "decided_by"]
    search_fields = ["reason", "tool_call__name", "decided_by__username"]

    @display(
        description="decision", ordering="decision", label={Decision.APPROVED: "success", Decision.REJECTED: "danger"}
    )
    def decision_label(self, approval: Approval) -> str:
        return str(approval.decision)

    @display(description="danger", ordering="tool_call__danger")
    def danger(self, approval: Approval) -> str:
        return approval.tool_call.danger

    @display(description="tool call")
    def of_call(self, approval: Approval) -> SafeString:
        return link_to_row(ToolCallLog, approval.tool_call_id, approval.tool_call.name)


@admin.register(InboxMessage)
class InboxMessageAdmin(ReadOnlyAdmin):
    list_display = ["author", "mode", "in_session", "delivered_seq", "created_at"]
    list_filter = ["mode", ("delivered_seq", admin.EmptyFieldListFilter)]
    list_select_related = ["author", "session"]
    search_fields = ["content", "author__username"]

    @display(description="session")
    def in_session(self, message: InboxMessage) -> SafeString:
        return link_to_row(Session, message.session_id, message.session)


class FileChangeInline(ReadOnlyInline):
    model = FileChange
    fields = ["path", "action", "before_size", "after_size"]
    readonly_fields = fields


@admin.register(WorkspaceChange)
class WorkspaceChangeAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "session", "seq", "created_at"]
    list_filter = ["tool"]
    list_select_related = ["session"]
    search_fields = ["files__path"]
    inlines = [FileChangeInline]


@admin.register(Loaded)
class LoadedAdmin(ReadOnlyAdmin):
    list_display = ["name", "kind", "session", "created_at"]
    list_filter = ["kind"]
    list_select_related = ["session"]
    search_fields = ["name"]
