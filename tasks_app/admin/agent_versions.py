"""Versions of agents, their differences, and the way to restore one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from llm_app.admin import redacted
from tasks_app.admin.base import ReadOnlyAdmin, link_to_row
from tasks_app.models import Agent, AgentVersion
from tasks_app.models.agent_version import AgentVersionQuerySet
from tasks_app.replay.readable import changed_lines, text_of


@dataclass(frozen=True, kw_only=True)
class FieldChange:
    """A changed field or prompt section. Each of `lines` is a kind (added, removed, place or same) and a text."""

    name: str
    lines: Sequence[tuple[str, str]]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[FieldChange]:
    """Return the changed fields under the names of the form, in its order."""
    old, new = _texts_by_name(before), _texts_by_name(after)
    names = [name for name in {**new, **old} if old.get(name, "") != new.get(name, "")]
    return [FieldChange(name=name, lines=_diff_lines(old.get(name, ""), new.get(name, ""))) for name in names]


def _texts_by_name(content: dict[str, Any]) -> dict[str, str]:
    """Return the fields and the prompt sections as texts by name. Empty values and False become ""."""
    values = {name.replace("_", " "): _text(value) for name, value in content.items() if name != "sections"}
    return values | {f"prompt: {name}": text for name, text in content.get("sections", {}).items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    return text_of(value) if value or value == 0 else ""


def _diff_lines(old: str, new: str) -> list[tuple[str, str]]:
    """Return the changed lines. The heading of a single hunk is left out, and no end of file is reported as missing."""
    lines = [(kind, line) for kind, line in changed_lines(f"{old}\n" if old else "", f"{new}\n" if new else "")]
    return lines[1:] if sum(kind == "place" for kind, _ in lines) == 1 else lines


@admin.register(AgentVersion)
class AgentVersionAdmin(ReadOnlyAdmin):
    list_display = ["of_agent", "version", "what_changed", "author", "note", "created_at", "restore_link"]
    list_display_links = ["version"]
    list_filter = ["agent"]
    list_select_related = ["agent", "author"]
    fieldsets = (
        (None, {"fields": ["of_agent", "number", "created_at", "author", "note", "restore_link"]}),
        ("Changes", {"fields": ["difference"]}),
        ("Content", {"fields": ["content_text"]}),
    )
    readonly_fields = ["of_agent", "restore_link", "difference", "content_text", "created_at"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.restore_view)
        return [path("<int:version_id>/put-back/", view, name="tasks_app_agentversion_put_back"), *super().get_urls()]

    def restore_view(self, request: HttpRequest, version_id: int) -> HttpResponse:
        """Show the changes for confirmation, and restore the version on POST.

        Requires the permission to change agents.
        """
        version = self.get_object(request, str(version_id))
        if version is None or version.agent is None or not request.user.has_perm("tasks_app.change_agent"):
            raise Http404()
        if request.method == "POST":
            return self._restore(request, version)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Put version {version.number} of {version.agent} back?",
            "version": version,
            "changes": changes(AgentVersion.objects.current(version.agent).content, version.content),
        }
        return redacted(TemplateResponse(request, "admin/tasks_app/put_back.html", context))

    def _restore(self, request: HttpRequest, version: AgentVersion) -> HttpResponse:
        missing_parts = version.restore(request.user)
        sentence = f"Restored version {version.number} of {version.name}. It applies from the next step of its tasks."
        self.log_change(request, version.agent, f"Put version {version.number} back.")
        messages.success(request, sentence)
        if missing_parts:
            messages.warning(request, f"Some parts could not be restored: {'; '.join(missing_parts)}.")
        return redirect(f"{reverse('admin:tasks_app_agentversion_changelist')}?agent__id__exact={version.agent_id}")

    def get_queryset(self, request: HttpRequest) -> AgentVersionQuerySet:
        versions: AgentVersionQuerySet = super().get_queryset(request)
        return versions.with_neighbours()

    @display(description="agent", ordering="agent__name")
    def of_agent(self, version: AgentVersion) -> SafeString:
        return link_to_row(Agent, version.agent_id, version.name) or SafeString(f"{version.name} (deleted)")

    @display(description="version", ordering="number")
    def version(self, version: AgentVersion) -> str:
        return str(version.number)

    @display(description="what changed")
    def what_changed(self, version: Any) -> str:
        if version.before is None:
            return "oldest stored version"
        return ", ".join(change.name for change in changes(version.before, version.content))

    @display(description="restore")
    def restore_link(self, version: Any) -> str | SafeString:
        if version.newest in (None, version.pk):
            return "current version" if version.newest else ""
        address = reverse("admin:tasks_app_agentversion_put_back", args=[version.pk])
        return format_html('<a class="text-link" href="{}">Put back</a>', address)

    @display(description="difference")
    def difference(self, version: Any) -> str:
        context = {"changes": changes(version.before or {}, version.content)}
        return render_to_string("admin/tasks_app/_changes.html", context)

    @display(description="content")
    def content_text(self, version: AgentVersion) -> str:
        return render_to_string("admin/tasks_app/_changes.html", {"values": _texts_by_name(version.content).items()})
