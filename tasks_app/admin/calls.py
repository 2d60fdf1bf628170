from django.contrib import admin
from django.utils.safestring import SafeString
from unfold.decorators import display

from tasks_app.admin import links
from tasks_app.admin.base import ReadOnlyAdmin, ReadOnlyInline
from tasks_app.models import Session, Task, ToolCallLog


class ToolCallInline(ReadOnlyInline):
    model = ToolCallLog
    fields = ["name", "status", "danger", "looped", "started_at", "duration_ms"]
    readonly_fields = fields
    ordering = ["pk"]


@admin.register(ToolCallLog)
class ToolCallAdmin(ReadOnlyAdmin):
    list_display = ["name", "status", "danger", "looped", "in_session", "of_task", "started_at", "duration_ms"]
    list_filter = ["status", "danger", "looped"]
    search_fields = ["name", "call_id", "arguments"]
    date_hierarchy = "started_at"

    @display(description="session")
    def in_session(self, call: ToolCallLog) -> SafeString:
        return links.to_row(Session, call.session_id, str(call.session_id)[:8])

    @display(description="task")
    def of_task(self, call: ToolCallLog) -> SafeString:
        return links.to_row(Task, call.task_id, str(call.task_id)[:8])
