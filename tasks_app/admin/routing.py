"""The admin of routing rules with the tasks in which they fired, and of workflows."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import display

from tasks_app.admin.base import ReadOnlyInline, link_to_row
from tasks_app.models import FiredRule, RoutingRule, Task, TaskState, Workflow, WorkflowStep


class FiredInline(ReadOnlyInline):
    model = FiredRule
    verbose_name_plural = "fired in"
    fields = ["of_task", "state", "created_at"]
    readonly_fields = fields
    show_change_link = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[FiredRule]:
        fired: QuerySet[FiredRule] = super().get_queryset(request)
        return fired.select_related("task__session")

    @display(description="task")
    def of_task(self, fired: FiredRule) -> SafeString:
        return link_to_row(Task, fired.task_id, fired.task.session)

    @display(description="state")
    def state(self, fired: FiredRule) -> str:
        return fired.task.failure_code or str(fired.task.state)


@admin.register(RoutingRule)
class RoutingRuleAdmin(ModelAdmin):
    list_display = ["name", "enabled", "match", "leads_to", "fired", "done", "failed", "fault"]
    list_filter = ["enabled", "match", "target"]
    search_fields = ["name", "pattern", "target_name"]
    fields = [
        "name",
        "enabled",
        "match",
        "pattern",
        "closeness",
        "target",
        "target_name",
        "text",
        "outcome_text",
        "fault",
    ]
    readonly_fields = ["outcome_text", "fault"]
    inlines = [FiredInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoutingRule]:
        rules: QuerySet[RoutingRule] = super().get_queryset(request)
        done, failed = Q(fired__task__state=TaskState.DONE), Q(fired__task__state=TaskState.FAILED)
        counts = {"times_done": Count("fired", filter=done), "times_failed": Count("fired", filter=failed)}
        return rules.annotate(times=Count("fired"), **counts)

    def save_model(self, request: HttpRequest, obj: RoutingRule, form: Any, change: bool) -> None:
        obj.fault = ""
        super().save_model(request, obj, form, change)

    @display(description="leads to")
    def leads_to(self, rule: RoutingRule) -> str:
        return f"{rule.get_target_display()} {rule.target_name}".strip()

    @display(description="fired", ordering="times")
    def fired(self, rule: RoutingRule) -> int:
        return rule.times  # type: ignore[attr-defined, no-any-return]

    @display(description="done", ordering="times_done")
    def done(self, rule: RoutingRule) -> int:
        return rule.times_done  # type: ignore[attr-defined, no-any-return]

    @display(description="failed", ordering="times_failed")
    def failed(self, rule: RoutingRule) -> int:
        return rule.times_failed  # type: ignore[attr-defined, no-any-return]

    @display(description="outcome")
    def outcome_text(self, rule: RoutingRule) -> str:
        if not rule.pk:
            return ""
        counts = rule.outcome()
        used = f"; {rule.target_name} was then used in {counts['used']}" if rule.target else ""
        return f"Tasks in which it fired: {counts['fired']}; {counts['done']} done, {counts['failed']} failed{used}."


_LAST_POSITION = 32_767  # the position of a new step, the largest of its column


class WorkflowStepInline(StackedInline):
    model = WorkflowStep
    verbose_name_plural = "steps: done from top to bottom; drag to reorder"
    fields = ["title", "instructions", "position"]
    ordering = ["position", "pk"]
    ordering_field = "position"
    hide_ordering_field = True
    extra = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the form field. New steps go below the others, whose positions dragging numbers from 0."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "position":
            field.initial = _LAST_POSITION
        return field


@admin.register(Workflow)
class WorkflowAdmin(ModelAdmin):
    list_display = ["name", "description", "number_of_steps"]
    search_fields = ["name", "description"]
    inlines = [WorkflowStepInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Workflow]:
        workflows: QuerySet[Workflow] = super().get_queryset(request)
        return workflows.annotate(step_count=Count("steps"))

    @display(description="steps", ordering="step_count")
    def number_of_steps(self, workflow: Any) -> str:
        return str(workflow.step_count) if workflow.step_count else "none, so it cannot be chosen yet"
