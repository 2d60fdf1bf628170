"""Admin pages of tool settings, allowed addresses, and the policies of roles and users."""

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from tools_app.admin import tool_names
from tools_app.admin.tool_names import ToolNamesField, ToolNameWidget
from tools_app.contract import ToolDefinition, registry
from tools_app.errors import UnknownTool
from tools_app.models import PACKAGE_HOSTS, AllowedAddress, ApprovalMode, RolePolicy, ToolSetting, UserPolicy
from tools_app.network import NetworkPolicy

HOST = re.compile(r"\*|(\*\.)?[A-Za-z0-9._-]{1,255}")  # as in the configuration file


class ApprovalsField(forms.CharField):
    """A mapping such as {"shell": "always"}, one entry per line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(f"{name}: {mode}" for name, mode in value.items()) if isinstance(value, Mapping) else value

    def clean(self, value: str) -> dict[str, str]:
        lines = [line.partition(":") for line in super().clean(value).splitlines() if line.strip()]
        modes = {name.strip(): mode.strip() for name, _, mode in lines}
        tool_names.checked_names(modes)
        if invalid := [mode for mode in modes.values() if mode not in ApprovalMode.values]:
            raise forms.ValidationError(f"“{invalid[0]}” is not one of {', '.join(ApprovalMode.values)}.")
        return modes


class RolePolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    allow = ToolNamesField(help_text="If none is selected, all tools are allowed. `message` is always available.")
    deny = ToolNamesField(help_text="A tool is denied to a user if any of their roles denies it.")
    approvals = ApprovalsField(
        required=False,
        help_text="When calls of this role's members need an approval. Overrides the tool's setting. One per line: "
        "“shell: always”; the values are never, by_danger and always. Of several roles, the strictest applies.",
    )


class RolePolicyInline(StackedInline):
    """The policy on a role's page."""

    model = RolePolicy
    form = RolePolicyForm
    verbose_name_plural = "tools of this role"


class UserPolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    deny = ToolNamesField(help_text="Tools that this person may not use, whatever their roles allow.")


class UserPolicyInline(StackedInline):
    """The policy on a user's page."""

    model = UserPolicy
    form = UserPolicyForm
    verbose_name_plural = "tools of this person"


@admin.register(RolePolicy)
class RolePolicyAdmin(ModelAdmin):
    form = RolePolicyForm
    list_display = ["role", "allowed", "denied", "approval_modes", "is_default"]
    list_select_related = ["role"]
    search_fields = ["role__name"]
    fields = ["role", "allow", "deny", "approvals", "is_default"]

    @display(description="allowed")
    def allowed(self, policy: RolePolicy) -> str:
        return ", ".join(policy.allow) or "all"

    @display(description="denied")
    def denied(self, policy: RolePolicy) -> str:
        return ", ".join(policy.deny) or "none"

    @display(description="approvals")
    def approval_modes(self, policy: RolePolicy) -> str:
        return ", ".join(f"{name}: {mode}" for name, mode in policy.approvals.items()) or "as configured for each tool"


class AllowedAddressForm(forms.ModelForm):  # type: ignore[type-arg]
    def clean_address(self) -> str:
        address = str(self.cleaned_data["address"])
        try:
            NetworkPolicy(allow_internal=frozenset([address]))
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from error
        return address


@admin.register(AllowedAddress)
class AllowedAddressAdmin(ModelAdmin):
    form = AllowedAddressForm
    list_display = ["address"]
    search_fields = ["address"]


class HostsField(forms.CharField):
    """A list such as ["pypi.org"], one host per line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: str) -> list[str]:
        hosts: list[str] = super().clean(value).split()
        if invalid := [host for host in hosts if not HOST.fullmatch(host)]:
            raise forms.ValidationError(
                f"“{invalid[0]}” is no host. Write names such as pypi.org or *.pythonhosted.org."
            )
        return hosts


class ToolSettingForm(forms.ModelForm):  # type: ignore[type-arg]
    name = forms.CharField(label="Tool", max_length=100, widget=ToolNameWidget())
    can_install_packages = forms.BooleanField(
        label="Commands can install packages (PyPI, npm)",
        required=False,
        widget=UnfoldBooleanSwitchWidget,
        help_text=f"For shell: commands reach {', '.join(PACKAGE_HOSTS)}. Data can also leave by these hosts.",
    )
    hosts = HostsField(
        required=False,
        help_text="For shell: further hosts that commands may reach, one per line, such as wiki.example.org or "
        "*.example.org. “*” is every host. Without any, there is no network.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.can_install_packages:
            self.initial["can_install_packages"] = True
            self.initial["hosts"] = [host for host in self.instance.hosts if host not in PACKAGE_HOSTS]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        hosts = values.get("hosts", [])
        if values.get("can_install_packages") and "*" not in hosts:
            values["hosts"] = [*(host for host in hosts if host not in PACKAGE_HOSTS), *PACKAGE_HOSTS]
        return values

    def clean_name(self) -> str:
        return tool_names.checked_names([self.cleaned_data["name"]])[0]


@admin.register(ToolSetting)
class ToolSettingAdmin(ModelAdmin):
    """The admin of tool settings. A tool without a row here uses the defaults of its definition."""

    form = ToolSettingForm
    list_display = ["name", "enabled", "own_danger", "danger", "approval", "approvers", "four_eyes"]
    list_filter = ["enabled", "approval", "danger", "four_eyes"]
    autocomplete_fields = ["roles"]
    list_select_related = ["approvers"]
    search_fields = ["name"]
    readonly_fields = ["own_danger"]
    list_after_template = "admin/tools_app/other_tools.html"
    fieldsets = (
        (None, {"fields": ["name", "enabled", "roles"]}),
        ("Danger", {"fields": ["own_danger", "danger"]}),
        ("Approval", {"fields": ["approval", "approvers", "four_eyes"]}),
        ("Network", {"fields": ["can_install_packages", "hosts"]}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Add the tools without a row, for users who can add one."""
        others: list[ToolDefinition] = []
        if self.has_add_permission(request):
            configured_names = set(ToolSetting.objects.values_list("name", flat=True))
            others = [tool for tool in registry.all_tools() if tool.name not in configured_names]
            others.sort(key=attrgetter("name"))
        response: HttpResponse = super().changelist_view(request, {**(extra_context or {}), "others": others})
        return response

    def save_model(self, request: HttpRequest, setting: ToolSetting, form: Any, change: bool) -> None:
        super().save_model(request, setting, form, change)
        if setting.name not in {tool.name for tool in registry.all_tools()}:
            advice = "The setting applies once such a tool exists. Check the spelling."
            messages.warning(request, f"There is no tool called {setting.name} now. {advice}")

    @display(description="default danger")
    def own_danger(self, setting: ToolSetting) -> str:
        """Return the tool's default danger. Single calls can be judged higher."""
        try:
            return registry.get(setting.name).danger.word
        except UnknownTool:
            return "not available now" if setting.name else "the tool's default"
