from typing import Any

from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from tools_app.models import McpServer, McpTool


class McpToolInline(TabularInline):
    """What the server has, as it was last seen."""

    model = McpTool
    extra = 0
    can_delete = False
    fields = ["name", "description", "state"]
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="state")
    def state(self, tool: McpTool) -> str:
        if tool.is_gone:
            return "gone"
        return "not used until confirmed" if tool.is_held else "usable"


@admin.register(McpServer)
class McpServerAdmin(ModelAdmin):
    """Its tools are listed when it is saved, and every ten minutes."""

    list_display = ["name", "transport", "enabled", "listed_at", "fault"]
    list_filter = ["enabled", "transport"]
    search_fields = ["name", "description"]
    readonly_fields = ["listed_at", "fault"]
    filter_horizontal = ["roles"]
    inlines = [McpToolInline]
    actions = ["confirm_tools", "list_tools"]

    def save_model(self, request: HttpRequest, obj: McpServer, form: Any, change: bool) -> None:
        obj.listed_at = None  # a worker looks within seconds
        super().save_model(request, obj, form, change)

    @admin.action(description="Confirm all tools in their current form")
    def confirm_tools(self, request: HttpRequest, servers: QuerySet[McpServer]) -> None:
        count = McpTool.objects.filter(server__in=servers).exclude(confirmed=F("digest")).update(confirmed=F("digest"))
        messages.success(request, f"Tools confirmed: {count}.")

    @admin.action(description="List the tools again now")
    def list_tools(self, request: HttpRequest, servers: QuerySet[McpServer]) -> None:
        servers.update(listed_at=None)
        messages.success(request, "A worker will list the tools within seconds.")


@admin.register(McpTool)
class McpToolAdmin(ModelAdmin):
    list_display = ["name", "server", "is_gone", "awaits_confirmation"]
    list_filter = ["server", "is_gone"]
    list_select_related = ["server"]
    search_fields = ["name", "description"]
    readonly_fields = ["server", "name", "description", "schema", "digest", "confirmed", "is_gone"]
    actions = ["confirm"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @display(description="awaits confirmation", boolean=True)
    def awaits_confirmation(self, tool: McpTool) -> bool:
        return tool.is_held

    @admin.action(description="Confirm the tools in their current form")
    def confirm(self, request: HttpRequest, tools: QuerySet[McpTool]) -> None:
        count = tools.update(confirmed=F("digest"))
        messages.success(request, f"Tools confirmed: {count}.")
