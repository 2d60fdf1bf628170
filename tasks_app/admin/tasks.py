from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.admin import links
from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.admin.calls import ToolCallInline
from tasks_app.admin.record import EntryInline
from tasks_app.models import Session, Task
from tasks_app.models.task import TaskState


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = [
        "number",
        "in_session",
        "started_by",
        "shown_state",
        "failure_code",
        "iteration",
        "tokens",
        "cost",
        "llm_calls",
        "created_at",
    ]
    list_filter = ["state", "waiting_for", "failure_code"]
    list_select_related = ["session", "started_by"]
    search_fields = ["id", "session__title", "started_by__username"]
    date_hierarchy = "created_at"
    ordering = ["-created_at"]
    fieldsets = (
        (None, {"fields": ["in_session", "started_by", "llm_calls", "created_at", "ended_at"]}),
        (
            "State",
            {"fields": ["state", "waiting_for", "stop_requested_at", "stopped", "failure_code", "failure_detail"]},
        ),
        (
            "Work",
            {
                "fields": [
                    "iteration",
                    "max_iterations",
                    "calls_made",
                    "tokens",
                    "cost",
                    "workflow",
                    "plan",
                    "final_result",
                ]
            },
        ),
        ("Worker", {"fields": ["terminal", "lease_owner", "lease_expires_at", "epoch", "crashes", "woken_at"]}),
    )
    readonly_fields = ["in_session", "llm_calls", "tokens", "cost", "created_at"]
    inlines = [EntryInline, ToolCallInline]
    actions = ["stop"]
    change_form_outer_before_template = "admin/tasks_app/stop_task.html"

    @display(description="task")
    def number(self, task: Task) -> str:
        return str(task.id)[:8]

    @display(description="session", ordering="session__title")
    def in_session(self, task: Task) -> SafeString:
        return links.to_row(Session, task.session_id, task.session)

    @display(description="state", ordering="state", label={TaskState.DONE: "success", TaskState.FAILED: "danger"})
    def shown_state(self, task: Task) -> str:
        return f"waits for {task.waiting_for}" if task.waiting_for else str(task.state)

    @display(description="LLM calls")
    def llm_calls(self, task: Task) -> SafeString:
        return links.to_rows(LLMLog, "show", task_id=task.id)

    @display(description="tokens", ordering="input_tokens")
    def tokens(self, task: Task) -> str:
        return f"{task.input_tokens:,} in, {task.output_tokens:,} out"

    @display(description="USD", ordering="cost_usd")
    def cost(self, task: Task) -> str:
        return "" if task.cost_usd is None else f"{task.cost_usd:.4f}"

    def has_stop_permission(self, request: HttpRequest) -> bool:
        """Who may change tasks may stop them, and no more."""
        return request.user.has_perm("tasks_app.change_task")

    @action(description="Stop", permissions=["stop"])
    def stop(self, request: HttpRequest, chosen: QuerySet[Task]) -> None:
        active = [task for task in chosen.select_related("session") if task.is_active]
        for task in active:
            services.stop(task)
            self.log_change(request, task, "Stopped.")
        messages.success(request, f"{len(active)} told to stop." if active else "They had ended already.")
