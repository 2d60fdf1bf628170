from typing import Any

from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget

from tools_app.admin import tool_names
from tools_app.models import ToolSetting


class ToolSettingForm(forms.ModelForm):  # type: ignore[type-arg]
    name = forms.ChoiceField(label="Tool", widget=UnfoldAdminSelectWidget())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "name" in self.fields:
            self.fields["name"].choices = tool_names.choices(filter(None, [self.instance.name]))  # type: ignore[attr-defined]


@admin.register(ToolSetting)
class ToolSettingAdmin(ModelAdmin):
    """A tool without a row here runs as its definition says."""

    form = ToolSettingForm
    list_display = ["name", "enabled", "danger", "approval"]
    list_filter = ["enabled", "approval", "danger"]
    search_fields = ["name"]
    fields = ["name", "enabled", "danger", "approval", "approvers", "four_eyes", "hosts"]
