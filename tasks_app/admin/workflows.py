from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import display

from tasks_app.models import Workflow, WorkflowStep

_LAST = 32_767


class WorkflowStepInline(StackedInline):
    model = WorkflowStep
    verbose_name_plural = "steps: from top to bottom, drag them into their order"
    fields = ["title", "instructions", "position"]
    ordering = ["position", "pk"]
    ordering_field = "position"
    hide_ordering_field = True
    extra = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A new step stands below the others; dragging counts from 0."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if db_field.name == "position":
            field.initial = _LAST
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
        return str(workflow.step_count) if workflow.step_count else "none: it cannot be chosen yet"
