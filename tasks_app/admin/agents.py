"""The admin of agents and of their prompts."""

import base64
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import action
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from llm_app.types import ToolMode
from tasks_app.engine.prompt.build import preview
from tasks_app.models import Agent, AgentPicture, AgentVersion, PromptSection, agent_templates
from tasks_app.record import images
from tasks_app.runtime import event_loop
from tasks_app.workspace.folders import check_environment
from tools_app.admin import ToolNamesField
from tools_app.hooks import choices
from tools_app.models import Skill
from tools_app.skills import installed_skills

FIELDSETS = (
    (None, {"fields": ["name", "description", "mark", "upload", "instructions"]}),
    ("Use", {"fields": ["roles", "is_default", "model", "max_iterations", "handoffs"]}),
    ("Tools", {"fields": ["skills", "denied_tools", "restricted_paths", "blocked_commands", "environments"]}),
    ("Other agents", {"fields": ["delegates", "helpers"]}),
    ("Hooks", {"fields": ["hooks", "review_model", "withheld_patterns"]}),
    ("Long sessions", {"fields": ["prune_outputs", "shorten_results", "summarise"]}),
)

MAX_PICTURE_BYTES = 5 * 1000**2  # bytes of an uploaded file, which is scaled down to 192 pixels


class LinesField(forms.CharField):
    """A form field for a list of texts, one a line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: str) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class PatternsField(LinesField):
    """A form field for regular expressions, one a line."""

    def clean(self, value: str) -> list[str]:
        import regex  # imported on first use: 2 MB that few installations need

        patterns = [line for line in forms.CharField.clean(self, value).splitlines() if line.strip()]
        for number, pattern in enumerate(patterns, 1):
            try:
                regex.compile(pattern)
            except regex.error as error:
                raise forms.ValidationError(f"Line {number} is not a regular expression: {error}.") from error
        return patterns


class FoldersField(LinesField):
    """A form field for folders of the server, one a line."""

    def clean(self, value: str) -> list[str]:
        try:
            return list(map(check_environment, super().clean(value)))
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    upload = forms.FileField(
        required=False, label="Picture", help_text="PNG, JPEG, WebP or GIF, in place of the mark. It is re-encoded."
    )
    roles = forms.ModelMultipleChoiceField(
        Group.objects.all(),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Only members of these roles can choose the agent. Without roles, everyone can.",
    )
    skills = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Only these skills are available to the agent. Without a selection, it has all skills of its user.",
    )
    denied_tools = ToolNamesField(help_text="Tools that the agent can never use.")
    restricted_paths = LinesField(
        required=False,
        help_text="Files and folders of the workspace, one pattern per line. The agent's calls may not name them, and "
        "under bubblewrap its commands cannot open them. A pattern without a slash matches in every folder: .env, "
        "*.pem, private/*.",
    )
    blocked_commands = LinesField(
        required=False,
        help_text="Programs that the agent's commands may not run, one per line. Add a subcommand to block only that: "
        "curl, git push.",
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
        help_text="Agents to which it can hand over a conversation until they answer. Descriptions guide its choice.",
    )
    helpers = LinesField(
        required=False, help_text="Agents that it can call as tools, one per line: researcher becomes ask_researcher."
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
        installed_hooks = choices(tuple(settings.HOOKS))
        missing_names = [name for name in self.instance.hooks if name not in installed_hooks]
        missing_hooks = dict.fromkeys(missing_names, "not installed, so every call is refused")
        hook_choices = [(name, f"{name}: {summary}") for name, summary in (installed_hooks | missing_hooks).items()]
        self.fields["hooks"].choices = hook_choices  # type: ignore[attr-defined]
        names = {*installed_skills(Path(settings.SKILLS_DIR)), *Skill.objects.values_list("name", flat=True)}
        names |= set(self.instance.skills)
        self.fields["skills"].choices = [(name, name) for name in sorted(names)]  # type: ignore[attr-defined]
        others = Agent.objects.exclude(pk=self.instance.pk)
        self.fields["handoffs"].queryset = others  # type: ignore[attr-defined]

    def clean_upload(self) -> AgentPicture | None:
        """Return the picture, re-encoded in a child process first, so that this process decodes no hostile file."""
        file = self.cleaned_data["upload"]
        if file is None:
            return None
        if file.size > MAX_PICTURE_BYTES:
            raise forms.ValidationError("The file is larger than 5 MB.")
        try:
            picture = event_loop.submit(images.encode(file.name, file.read())).result()
        except images.PictureError as error:
            raise forms.ValidationError(f"This picture cannot be used: {error}.") from error
        return AgentPicture.thumbnail(base64.b64decode(picture.data))


class PromptSectionInline(StackedInline):
    """All versions of a section, newest first. Versions can only be added."""

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

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return the values of the agent template that `?template=` names."""
        template = agent_templates.load_all().get(request.GET.get("template", ""))
        return dict(template.values) if template else super().get_changeform_initial_data(request)

    def get_urls(self) -> list[URLPattern]:
        address = path(
            "<int:agent_id>/prompt/", self.admin_site.admin_view(self.show_prompt), name="tasks_app_agent_prompt"
        )
        return [address, *super().get_urls()]

    def show_prompt(self, request: HttpRequest, agent_id: int) -> HttpResponse:
        """Show the entire prompt as in a task of this user. `?mode=` selects another ToolMode."""
        agent = self.get_object(request, str(agent_id))
        if agent is None or not self.has_view_permission(request, agent):
            raise Http404()
        mode = request.GET.get("mode")
        selected_mode = ToolMode(mode) if mode in list(ToolMode) else ToolMode.NATIVE
        context = {
            **self.admin_site.each_context(request),
            "title": f"The prompt of {agent}",
            "agent": agent,
            "sections": preview(agent, request.user, selected_mode),
            "modes": list(ToolMode),
            "mode": selected_mode,
        }
        return TemplateResponse(request, "admin/tasks_app/agent_prompt.html", context)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        """Save the agent. Earlier changes by other means become a separate version first."""
        if change:
            AgentVersion.objects.current(obj)
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the related rows, and then one version with all changes of the form."""
        super().save_related(request, form, formsets, change)
        if picture := form.cleaned_data.get("upload"):
            picture.assign_to(form.instance)
        AgentVersion.objects.current(form.instance, author=request.user, note="")
        if unknown := set(form.instance.helpers).difference(Agent.objects.values_list("name", flat=True)):
            messages.warning(request, f"No agent is called {', '.join(sorted(unknown))}. Check the spelling.")

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for row in formset.save(commit=False):
            if isinstance(row, PromptSection):
                row.author_id = request.user.pk
        super().save_formset(request, form, formset, change)

    @action(description="Make this the default agent, or undo that", permissions=["change"])
    def switch_default(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        if queryset.count() != 1:
            messages.error(request, "Select one agent.")
            return
        agent = queryset.get()
        with transaction.atomic():
            Agent.objects.filter(is_default=True).update(is_default=False)
            Agent.objects.filter(pk=agent.pk).update(is_default=not agent.is_default)
        status = "no longer the default agent" if agent.is_default else "the default agent for new sessions"
        self.log_change(request, agent, f"Is {status}.")
        messages.success(request, f"{agent} is {status}.")
