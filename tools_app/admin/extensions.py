"""Admin pages of MCP servers and skills, with which administrators extend the built-in tools."""

from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminFileFieldWidget

from tools_app.models import McpServer, McpTool, Skill, SkillFile
from tools_app.skills.skill_files import (
    MAX_BYTES,
    BadSkill,
    SkillText,
    check_name,
    description_remark,
    refused_skills,
    uploaded_skill,
)


class McpToolInline(TabularInline):
    """The server's tools, as last listed."""

    model = McpTool
    extra = 0
    can_delete = False
    fields = ["name", "own_name", "description", "annotations", "state"]
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="annotations")
    def annotations(self, tool: McpTool) -> str:
        return "destructive" if tool.is_destructive else "read-only" if tool.is_read_only else "-"

    @display(description="state")
    def state(self, tool: McpTool) -> str:
        if tool.is_gone:
            return "gone"
        return "not used until confirmed" if tool.needs_confirmation else "usable"


@admin.register(McpServer)
class McpServerAdmin(ModelAdmin):
    """The admin of MCP servers. A server's tools are listed when it is saved, and every ten minutes."""

    list_display = ["name", "transport", "enabled", "listed_at", "fault"]
    list_filter = ["enabled", "transport"]
    search_fields = ["name", "description"]
    readonly_fields = ["listed_at", "fault", "skipped_tools"]
    autocomplete_fields = ["roles"]
    inlines = [McpToolInline]
    actions = ["confirm_tools", "list_tools"]

    @display(description="skipped tools")
    def skipped_tools(self, server: McpServer) -> str:
        """Return the tools that cannot be used, a line each with the reason."""
        lines = [(f"{name}: {reason}",) for name, reason in server.skipped.items()]
        return format_html_join(mark_safe("<br>"), "{}", lines) or "-"

    def save_model(self, request: HttpRequest, obj: McpServer, form: Any, change: bool) -> None:
        obj.listed_at = None  # a worker lists the tools within seconds
        super().save_model(request, obj, form, change)

    @action(description="Confirm all tools in their current form", permissions=["change"])
    def confirm_tools(self, request: HttpRequest, servers: QuerySet[McpServer]) -> None:
        count = McpTool.objects.filter(server__in=servers).exclude(confirmed=F("digest")).update(confirmed=F("digest"))
        messages.success(request, f"Tools confirmed: {count}.")

    @action(description="List the tools again now", permissions=["change"])
    def list_tools(self, request: HttpRequest, servers: QuerySet[McpServer]) -> None:
        servers.update(listed_at=None)
        messages.success(request, "A worker will list the tools within seconds.")


@admin.register(McpTool)
class McpToolAdmin(ModelAdmin):
    list_display = ["name", "server", "is_gone", "awaits_confirmation"]
    list_filter = ["server", "is_gone"]
    list_select_related = ["server"]
    search_fields = ["name", "description"]
    readonly_fields = [
        *("server", "name", "own_name", "description", "is_read_only", "is_destructive", "schema", "digest"),
        *("confirmed", "is_gone"),
    ]
    actions = ["confirm"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @display(description="awaits confirmation", boolean=True)
    def awaits_confirmation(self, tool: McpTool) -> bool:
        return tool.needs_confirmation

    @action(description="Confirm the tools in their current form", permissions=["change"])
    def confirm(self, request: HttpRequest, tools: QuerySet[McpTool]) -> None:
        count = tools.update(confirmed=F("digest"))
        messages.success(request, f"Tools confirmed: {count}.")


_TEXT_FIELDS = ("name", "description", "body")


class SkillForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form for a skill: either its fields, or an upload that contains all of them."""

    upload = forms.FileField(
        required=False,
        widget=UnfoldAdminFileFieldWidget(),
        help_text="A SKILL.md, or a zip archive that contains one and its files. It replaces the fields below.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.uploaded: SkillText | None = None
        for name in self.fields.keys() & _TEXT_FIELDS:
            self.fields[name].required = False

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if file := cleaned.get("upload"):
            self.uploaded = self._unpacked(file)
            cleaned |= {name: getattr(self.uploaded, name) for name in _TEXT_FIELDS}
        for name in _TEXT_FIELDS:
            if not cleaned.get(name):
                self.add_error(name, "This field is required unless you upload a file.")
        return cleaned

    def clean_name(self) -> str:
        """Check a new name. An existing name is not checked again."""
        name: str = self.cleaned_data["name"]
        try:
            if name and name != self.instance.name:
                check_name(name)
        except BadSkill as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def _unpacked(self, file: UploadedFile) -> SkillText:
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(f"An upload may have at most {MAX_BYTES // 1000**2} MB.")
        try:
            return uploaded_skill(file.name or "", file.read())
        except BadSkill as error:
            raise forms.ValidationError(str(error)) from error


class SkillFileInline(TabularInline):
    model = SkillFile
    extra = 0
    fields = ["path", "executable"]
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Skill)
class SkillAdmin(ModelAdmin):
    form = SkillForm
    list_display = ["name", "description", "enabled", "changed_at"]
    list_filter = ["enabled"]
    search_fields = ["name", "description"]
    fields = ["upload", "name", "description", "body", "enabled", "roles"]
    autocomplete_fields = ["roles"]
    inlines = [SkillFileInline]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Add warnings about refused skill folders, which have no row."""
        for path, reason in refused_skills(Path(settings.SKILLS_DIR)).items():
            messages.warning(request, f"{path} was left out: {reason}")
        return super().changelist_view(request, extra_context)

    def save_model(self, request: HttpRequest, obj: Skill, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.uploaded is not None:
            obj.files.all().delete()
            SkillFile.objects.bulk_create(
                SkillFile(skill=obj, path=path, content=content, executable=path in form.uploaded.executable)
                for path, content in form.uploaded.files.items()
            )
        if warning := description_remark(obj.description):
            messages.warning(request, warning)
