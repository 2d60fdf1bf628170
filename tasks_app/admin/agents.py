"""Agents, their prompts, and the workflows that a task may go through."""

import re
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from llm_app.types import ToolMode
from tasks_app.engine.prompt.build import preview
from tasks_app.models import Agent, AgentVersion, PromptSection, Workflow, WorkflowStep
from tasks_app.workspaces import check_environment
from tools_app.admin.tool_names import ToolNamesField
from tools_app.hooks.loading import choices

FIELDSETS = (
    (None, {"fields": ["name", "description", "is_default", "model", "handoffs"]}),
    ("Tools", {"fields": ["denied_tools", "restricted_paths", "blocked_commands", "environments"]}),
    ("Other agents", {"fields": ["delegates", "helpers"]}),
    ("Hooks", {"fields": ["hooks", "review_model", "withheld_patterns"]}),
    ("Long sessions", {"fields": ["prune_outputs", "shorten_results", "summarise"]}),
)


_LAST = 32_767


class LinesField(forms.CharField):
    """A list of texts, one a line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: str) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class PatternsField(LinesField):
    """Regular expressions, one a line."""

    def clean(self, value: str) -> list[str]:
        patterns = [line for line in forms.CharField.clean(self, value).splitlines() if line.strip()]
        for number, pattern in enumerate(patterns, 1):
            try:
                re.compile(pattern)
            except re.error as error:
                raise forms.ValidationError(f"Line {number} is not a regular expression: {error}.") from error
        return patterns


class FoldersField(LinesField):
    """Folders of the server, one a line."""

    def clean(self, value: str) -> list[str]:
        try:
            return list(map(check_environment, super().clean(value)))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    denied_tools = ToolNamesField(help_text="Tools that it may never use.")
    restricted_paths = LinesField(
        required=False,
        help_text="Files and folders of the workspace that its calls may not name and, under bubblewrap, its commands "
        "cannot open; one pattern per line. A pattern without a slash is a name in any folder: .env, *.pem, private/*.",
    )
    blocked_commands = LinesField(
        required=False,
        help_text="Programs that its commands may not run, one per line; with further words, only those of its "
        "commands: curl, git push.",
    )
    environments = FoldersField(
        required=False,
        help_text="Folders of the server with a bin folder, such as Python environments, one per line. Commands see "
        "them read-only, and find their programs before the system's.",
    )
    handoffs = forms.ModelMultipleChoiceField(
        Agent.objects.all(),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="The agents to whom it may hand a conversation on, until they answer. Descriptions say what for.",
    )
    helpers = LinesField(
        required=False, help_text="Agents that it has as tools, one per line: researcher becomes ask_researcher."
    )
    hooks = forms.MultipleChoiceField(
        required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text="The hooks that check its calls."
    )
    withheld_patterns = PatternsField(
        required=False,
        label="Output filter patterns",
        help_text="Regular expressions, one per line. If there are any, the filter is on and messages are not "
        "streamed.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        known = choices(tuple(settings.HOOKS))
        gone = {name: "not installed, so every call is refused" for name in self.instance.hooks if name not in known}
        described = [(name, f"{name}: {summary}") for name, summary in (known | gone).items()]
        self.fields["hooks"].choices = described  # type: ignore[attr-defined]
        others = Agent.objects.exclude(pk=self.instance.pk)
        self.fields["handoffs"].queryset = others  # type: ignore[attr-defined]


class PromptSectionInline(StackedInline):
    """All versions, newest first. One can be added, none can be changed or deleted."""

    model = PromptSection
    verbose_name = "section version"
    verbose_name_plural = "prompt: sections that you have rewritten, all versions, newest first"
    fields = ["section", "text", "author", "created_at"]
    readonly_fields = ["author", "created_at"]
    ordering = ["-pk"]
    extra = 0
    per_page = 20
    tab = True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Agent)
class AgentAdmin(ModelAdmin):
    form = AgentForm
    fieldsets = FIELDSETS
    list_display = ["name", "description", "model", "is_default"]
    list_select_related = ["model"]
    search_fields = ["name", "description"]
    readonly_fields = ["is_default"]
    inlines = [PromptSectionInline]
    actions = ["switch_default"]
    change_form_outer_before_template = "admin/tasks_app/agent_actions.html"

    def get_urls(self) -> list[URLPattern]:
        address = path(
            "<int:agent_id>/prompt/", self.admin_site.admin_view(self.show_prompt), name="tasks_app_agent_prompt"
        )
        return [address, *super().get_urls()]

    def show_prompt(self, request: HttpRequest, agent_id: int) -> HttpResponse:
        """The whole prompt, as in a task of the user who views it; `?mode=` for another way of calling tools."""
        agent = self.get_object(request, str(agent_id))
        if agent is None or not self.has_view_permission(request, agent):
            raise Http404()
        mode = request.GET.get("mode")
        chosen = ToolMode(mode) if mode in list(ToolMode) else ToolMode.NATIVE
        context = {
            **self.admin_site.each_context(request),
            "title": f"The prompt of {agent}",
            "agent": agent,
            "sections": preview(agent, request.user, chosen),
            "modes": list(ToolMode),
            "mode": chosen,
        }
        return TemplateResponse(request, "admin/tasks_app/agent_prompt.html", context)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """What was changed by other means before stays a version of its own."""
        if change:
            AgentVersion.objects.current(obj)
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """The version has all that one form has changed."""
        super().save_related(request, form, formsets, change)
        AgentVersion.objects.current(form.instance, author=request.user, note="")

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for row in formset.save(commit=False):
            if isinstance(row, PromptSection):
                row.author_id = request.user.pk
        super().save_formset(request, form, formset, change)

    @action(description="Make this the default agent, or undo that", permissions=["change"])
    def switch_default(self, request: HttpRequest, chosen: QuerySet[Agent]) -> None:
        if chosen.count() != 1:
            messages.error(request, "Select one agent.")
            return
        agent = chosen.get()
        with transaction.atomic():
            Agent.objects.filter(is_default=True).update(is_default=False)
            Agent.objects.filter(pk=agent.pk).update(is_default=not agent.is_default)
        now = "no longer the default agent" if agent.is_default else "the agent for new sessions that name none"
        self.log_change(request, agent, f"Is {now}.")
        messages.success(request, f"{agent} is {now}.")


class WorkflowStepInline(StackedInline):
    model = WorkflowStep
    verbose_name_plural = "steps: done from top to bottom; drag to reorder"
    fields = ["title", "instructions", "position"]
    ordering = ["position", "pk"]
    ordering_field = "position"
    hide_ordering_field = True
    extra = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A new step goes below the others; dragging counts from 0."""
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
        return str(workflow.step_count) if workflow.step_count else "none, so it cannot be chosen yet"
