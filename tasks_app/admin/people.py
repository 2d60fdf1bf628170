"""What people said to running tasks: approvals and messages. It is said on the site, and only looked at here."""

from django.contrib import admin
from django.utils.safestring import SafeString
from unfold.decorators import display

from tasks_app.admin import links
from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.models import Approval, InboxMessage, Session, ToolCallLog
from tasks_app.models.approval import Decision


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    list_display = [
        "reason",
        "shown_decision",
        "scope",
        "of_call",
        "danger",
        "decided_by",
        "decided_at",
        "created_at",
        "expires_at",
    ]
    list_filter = ["decision", "scope", "tool_call__danger"]
    list_select_related = ["tool_call", "decided_by"]
    search_fields = ["reason", "tool_call__name", "decided_by__username"]
    date_hierarchy = "created_at"

    @display(
        description="decision", ordering="decision", label={Decision.APPROVED: "success", Decision.REJECTED: "danger"}
    )
    def shown_decision(self, approval: Approval) -> str:
        return str(approval.decision)

    @display(description="danger", ordering="tool_call__danger")
    def danger(self, approval: Approval) -> str:
        return approval.tool_call.danger

    @display(description="tool call")
    def of_call(self, approval: Approval) -> SafeString:
        return links.to_row(ToolCallLog, approval.tool_call_id, approval.tool_call.name)


@admin.register(InboxMessage)
class InboxMessageAdmin(ReadOnlyAdmin):
    list_display = ["author", "mode", "in_session", "delivered_seq", "created_at"]
    list_filter = ["mode", ("delivered_seq", admin.EmptyFieldListFilter)]
    list_select_related = ["author", "session"]
    search_fields = ["content", "author__username"]
    date_hierarchy = "created_at"

    @display(description="session")
    def in_session(self, message: InboxMessage) -> SafeString:
        return links.to_row(Session, message.session_id, message.session)
