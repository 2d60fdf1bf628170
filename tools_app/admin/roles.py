from typing import Any

from django import forms
from django.contrib import admin
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from tools_app.admin import tool_names
from tools_app.models import RolePolicy


class RolePolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    """Both lists as boxes to tick."""

    allow = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="Nothing ticked allows all tools.",
    )
    deny = forms.MultipleChoiceField(
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget(),
        help_text="A tool that one role of a user denies is denied.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"allow", "deny"} & self.fields.keys():
            self.fields[name].choices = tool_names.choices(getattr(self.instance, name))  # type: ignore[attr-defined]


class RolePolicyInline(StackedInline):
    """On the page of a role."""

    model = RolePolicy
    form = RolePolicyForm
    verbose_name_plural = "tools of this role"


@admin.register(RolePolicy)
class RolePolicyAdmin(ModelAdmin):
    form = RolePolicyForm
    list_display = ["role", "allowed", "denied"]
    list_select_related = ["role"]
    search_fields = ["role__name"]
    fields = ["role", "allow", "deny"]

    @display(description="allowed")
    def allowed(self, policy: RolePolicy) -> str:
        return ", ".join(policy.allow) or "all"

    @display(description="denied")
    def denied(self, policy: RolePolicy) -> str:
        return ", ".join(policy.deny) or "none"
