from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin
from unfold.decorators import display

from tools_app.admin import tool_names
from tools_app.admin.tool_names import ToolNameWidget
from tools_app.contract import registry
from tools_app.errors import UnknownTool
from tools_app.models import ToolSetting


class ToolSettingForm(forms.ModelForm):  # type: ignore[type-arg]
    name = forms.CharField(label="Tool", max_length=100, widget=ToolNameWidget())

    def clean_name(self) -> str:
        return tool_names.checked([self.cleaned_data["name"]])[0]


@admin.register(ToolSetting)
class ToolSettingAdmin(ModelAdmin):
    """A tool without a row here runs as its definition says."""

    form = ToolSettingForm
    list_display = ["name", "enabled", "own_danger", "danger", "approval", "approvers", "four_eyes"]
    list_filter = ["enabled", "approval", "danger", "four_eyes"]
    list_select_related = ["approvers"]
    search_fields = ["name"]
    readonly_fields = ["own_danger"]
    fieldsets = (
        (None, {"fields": ["name", "enabled"]}),
        ("Danger", {"fields": ["own_danger", "danger"]}),
        ("Approval", {"fields": ["approval", "approvers", "four_eyes"]}),
    )

    @display(description="its own danger")
    def own_danger(self, setting: ToolSetting) -> str:
        """As the tool itself says; single calls may be judged higher."""
        try:
            return registry.get(setting.name).danger.word
        except UnknownTool:
            return "not here now" if setting.name else "as the tool says"
