from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin
from unfold.decorators import action

from llm_app.types import ToolMode
from tasks_app.admin.agent_form import FIELDSETS, AgentForm
from tasks_app.admin.prompt_sections import PromptSectionInline
from tasks_app.engine.prompt.build import preview
from tasks_app.models import Agent, PromptSection


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
        """The whole prompt, as a task of whoever looks would have it; `?mode=` for another way of calling tools."""
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

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        for row in formset.save(commit=False):
            if isinstance(row, PromptSection):
                row.author_id = request.user.pk
        super().save_formset(request, form, formset, change)

    @action(description="Make this the default agent, or no longer so", permissions=["change"])
    def switch_default(self, request: HttpRequest, chosen: QuerySet[Agent]) -> None:
        if chosen.count() != 1:
            messages.error(request, "Select one agent.")
            return
        agent = chosen.get()
        with transaction.atomic():
            Agent.objects.filter(is_default=True).update(is_default=False)
            Agent.objects.filter(pk=agent.pk).update(is_default=not agent.is_default)
        now = "no longer the default agent" if agent.is_default else "the agent of new sessions that name none"
        self.log_change(request, agent, f"Is {now}.")
        messages.success(request, f"{agent} is {now}.")
