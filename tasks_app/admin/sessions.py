"""The admin of sessions and their tasks."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from unfold.admin import TabularInline
from unfold.decorators import action, display

from llm_app.models import LLMLog
from tasks_app import services
from tasks_app.admin.base import LargeTable, ReadOnlyAdmin, link_to_row, link_to_rows
from tasks_app.admin.record import EntryInline, ToolCallInline
from tasks_app.models import AgentVersion, ContextEntry, Session, SessionMember, Task, TaskState
from tasks_app.replay import verification
from tools_app.admin import ToolNamesField

_STATE_COLOURS = {**dict.fromkeys(TaskState.values, ""), TaskState.DONE: "success", TaskState.FAILED: "danger"}


class SessionForm(forms.ModelForm):  # type: ignore[type-arg]
    denied_tools = ToolNamesField(help_text="Tools that this session may not use, from its next step on.")


class MemberInline(TabularInline):
    model = SessionMember
    autocomplete_fields = ["user"]
    fields = ["user", "role", "may_write"]
    extra = 0


@admin.register(Session)
class SessionAdmin(LargeTable):
    """Sessions, which administrators can view, share, and delete with everything that belongs to them."""

    list_display = ["title_text", "owner", "model", "tasks", "entries", "updated_at"]
    list_filter = ["model"]
    list_select_related = ["owner", "model"]
    search_fields = ["id", "title", "owner__username"]
    form = SessionForm
    fields = ["title", "model", "denied_tools", "owner", "tasks", "entries", "llm_calls", "summary", "chain_head"]
    readonly_fields = ["owner", "tasks", "entries", "llm_calls", "summary", "chain_head"]
    inlines = [MemberInline]
    view_on_site = False
    actions = ["check_record"]
    change_form_outer_before_template = "admin/tasks_app/check_record.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        """Prefetch the page's tasks for counting. An annotation would count the tasks of all sessions."""
        sessions: QuerySet[Session] = super().get_queryset(request)
        return sessions.prefetch_related(Prefetch("tasks", Task.objects.order_by().only("session")))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_inlines(self, request: HttpRequest, obj: Session | None) -> list[Any]:
        """Return no members for a delegated session, which is shared through its root."""
        return [] if obj and obj.root_id else self.inlines

    def save_model(self, request: HttpRequest, obj: Session, form: Any, change: bool) -> None:
        services.change_session(obj, title=obj.title, model=obj.model, denied_tools=obj.denied_tools)

    def get_deleted_objects(self, objs: Iterable[Session], request: HttpRequest) -> tuple[Any, ...]:
        """Count the rows instead of listing them, because a record may have very many.

        Delegated sessions are deleted with their root. They are protected unless the root is selected, too, as are
        sessions with active tasks.
        """
        selected = {session.pk: session for session in objs}
        sessions = Session.objects.filter(Q(pk__in=selected) | Q(root__in=selected)).order_by()
        tasks = Task.objects.filter(session__in=sessions)
        counts = {
            "sessions": sessions.count(),
            "tasks": tasks.count(),
            "entries": ContextEntry.objects.filter(session__in=sessions).count(),
        }
        delegated = [session for session in selected.values() if session.root_id and session.root_id not in selected]
        protected = [*delegated, *tasks.active().select_related("session")]
        return [str(session) for session in selected.values()], counts, set(), protected

    @action(description="Check the record", permissions=["view"])
    def check_record(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        """Rebuild every request of the sessions, and verify their hash chains."""
        for session in queryset:
            findings = verification.of_session(session)
            level = messages.SUCCESS if findings.is_whole else messages.ERROR
            faults = [*findings.broken_chains, *findings.mismatches[:3]]
            messages.add_message(request, level, " ".join([f"“{session}”: {findings}", *faults]))

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        services.delete_session(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        """Delete the selected root sessions, each with those delegated below it."""
        for session in queryset.filter(root=None):
            services.delete_session(session)

    @display(description="title", ordering="title")
    def title_text(self, session: Session) -> str:
        return str(session)

    @display(description="tasks")
    def tasks(self, session: Session) -> SafeString:
        return link_to_rows(Task, len(session.tasks.all()), session__id__exact=session.id)

    @display(description="entries")
    def entries(self, session: Session) -> SafeString:
        return link_to_rows(ContextEntry, session.last_seq, session__id__exact=session.id)

    @display(description="LLM calls")
    def llm_calls(self, session: Session) -> SafeString:
        return link_to_rows(LLMLog, "show", session_id=session.id)


@admin.register(Task)
class TaskAdmin(ReadOnlyAdmin):
    list_display = ["label", "in_session", "started_by", "state_label", "work"]
    list_filter = ["state", "waiting_for", "failure_code"]
    list_select_related = ["session", "started_by"]
    search_fields = ["id", "session__title", "started_by__username"]
    ordering = ["-created_at"]
    fieldsets = (
        (None, {"fields": ["in_session", "started_by", "of_agent", "llm_calls", "created_at", "ended_at"]}),
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
    readonly_fields = ["in_session", "of_agent", "llm_calls", "tokens", "cost", "created_at"]
    inlines = [EntryInline, ToolCallInline]
    actions = ["stop"]
    change_form_outer_before_template = "admin/tasks_app/stop_task.html"

    @display(description="task", ordering="created_at")
    def label(self, task: Task) -> str:
        return f"{date_format(localtime(task.created_at), 'j M Y, H:i')}, {str(task.id)[:8]}"

    @display(description="session", ordering="session__title")
    def in_session(self, task: Task) -> SafeString:
        return link_to_row(Session, task.session_id, task.session)

    @display(description="agent at its start")
    def of_agent(self, task: Task) -> SafeString:
        return link_to_row(AgentVersion, task.agent_version_id, task.agent_version)

    @display(description="state", ordering="state", label=_STATE_COLOURS)
    def state_label(self, task: Task) -> tuple[str, str]:
        """Return the key of the label's colour, and the text."""
        if task.is_cut_off:
            return "forked", "forked"
        text = f"waiting for {task.waiting_for}" if task.waiting_for else str(task.failure_code or task.state)
        return task.state, text

    @display(description="work", ordering="iteration")
    def work(self, task: Task) -> str:
        """Return steps, tokens and cost in one column, because each column adds 13 kB to the list."""
        return ", ".join(filter(None, [f"{task.iteration} steps", self.tokens(task), self.cost(task)]))

    @display(description="LLM calls")
    def llm_calls(self, task: Task) -> SafeString:
        return link_to_rows(LLMLog, "show", task_id=task.id)

    @display(description="tokens", ordering="input_tokens")
    def tokens(self, task: Task) -> str:
        return f"{task.input_tokens:,} in, {task.output_tokens:,} out"

    @display(description="cost", ordering="cost_usd")
    def cost(self, task: Task) -> str:
        if task.cost_usd is None:
            return "no price" if task.input_tokens else ""
        return f"{task.cost_usd:.4f} USD"

    def has_stop_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may change tasks. Stopping is all that this permission allows here."""
        return request.user.has_perm("tasks_app.change_task")

    @action(description="Stop", permissions=["stop"])
    def stop(self, request: HttpRequest, queryset: QuerySet[Task]) -> None:
        active = [task for task in queryset.select_related("session") if task.is_active]
        for task in active:
            services.stop(task)
            self.log_change(request, task, "Stopped.")
        messages.success(request, f"Tasks asked to stop: {len(active)}." if active else "The tasks had already ended.")
