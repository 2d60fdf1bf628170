"""The admin of LLM calls with their exact requests, and of the blobs that requests refer to."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from llm_app import errors, protocols
from llm_app.models import Blob, LLMLog, LogicalModel, Provider
from llm_app.types import Purpose
from tasks_app.admin.base import ReadOnlyAdmin, link_to_row, value_filter
from tasks_app.models import AgentVersion, Session, Task
from tasks_app.models.errors import Refusal
from tasks_app.replay import sent
from tasks_app.replay.readable import difference, request_fields


class ExactRequestMixin:
    """A mixin for the admin of LLM calls. `exact_request` is rebuilt from the record whenever a page is opened."""

    def get_urls(self) -> list[Any]:
        download = self.admin_site.admin_view(self._download)  # type: ignore[attr-defined]
        own = [path("<uuid:call_id>/request/", download, name="llm_app_llmlog_request")]
        urls: list[Any] = super().get_urls()  # type: ignore[misc]
        return [*own, *urls]

    def _download(self, request: HttpRequest, call_id: UUID) -> HttpResponse:
        """Return the request's exact bytes. Requires the permission to view calls."""
        if not self.has_view_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        try:
            body = sent.sent_request(LLMLog.objects.get(pk=call_id)).body
        except (LLMLog.DoesNotExist, Refusal) as error:
            raise Http404(str(error)) from error
        headers = {"Content-Disposition": f'attachment; filename="request-{call_id}.json"'}
        return HttpResponse(body, content_type="application/json", headers=headers)

    @display(description="what was sent")
    def exact_request(self, log: LLMLog) -> SafeString:
        try:
            exact = sent.sent_request(log)
            before = sent.before(log)
            new = difference(sent.sent_request(before).body, exact.body) if before else []
        except Refusal as error:
            return render_to_string("admin/llm_app/request.html", {"fault": error})
        context = {
            "parts": request_fields(exact.body),
            "is_redacted": exact.is_redacted,
            "before": before,
            "new": "\n".join(line for _, line in new),
            "download": reverse("admin:llm_app_llmlog_request", args=[log.pk]),
        }
        return render_to_string("admin/llm_app/request.html", context)


@admin.register(LLMLog)
class LLMCallAdmin(ExactRequestMixin, ReadOnlyAdmin):
    list_display = ["created_at", "purpose", "target", "outcome", "tokens", "work", "origin"]
    list_filter = [
        "status",
        value_filter("error_type", lambda: errors.NAMES),
        value_filter("purpose", lambda: Purpose),
        value_filter("provider", lambda: Provider.objects.values_list("name", flat=True)),
        value_filter("model", lambda: LogicalModel.objects.values_list("name", flat=True)),
        value_filter("adapter", protocols.adapter_names),
    ]
    search_fields = ["provider", "provider_model", "error", "=task_id", "=session_id"]
    ordering = ["-created_at"]
    fieldsets = (
        (
            None,
            {
                "fields": [
                    "created_at",
                    "purpose",
                    "for_user",
                    "in_session",
                    "of_task",
                    "of_agent",
                    "iteration",
                    "attempt",
                ]
            },
        ),
        ("Who answered", {"fields": ["model", "provider", "provider_model", "adapter", "adapter_version"]}),
        ("Outcome", {"fields": ["status", "error_type", "error", "finish_reason", "first_token", "duration"]}),
        (
            "Used",
            {
                "fields": [
                    "input_tokens",
                    "cached_tokens",
                    "cache_write_tokens",
                    "output_tokens",
                    "thinking_tokens",
                    "usage_estimated",
                    "cost",
                ]
            },
        ),
        (
            "Request",
            {
                "fields": [
                    "exact_request",
                    "system_prompt",
                    "tool_list",
                    "compacted_block",
                    "cut_seq",
                    "last_seq",
                    "parameters",
                    "masked_spans",
                    "request_sha256",
                    "request_bytes",
                ]
            },
        ),
    )
    readonly_fields = [
        "created_at",
        "for_user",
        "in_session",
        "of_task",
        "of_agent",
        "first_token",
        "duration",
        "cost",
        "system_prompt",
        "tool_list",
        "compacted_block",
        "exact_request",
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[LLMLog]:
        logs: QuerySet[LLMLog] = super().get_queryset(request)
        return logs.defer("parameters", "masked_spans", "error")

    @display(description="outcome", ordering="status", label={"succeeded": "success", "failed": "danger"})
    def outcome(self, log: LLMLog) -> tuple[str, str]:
        return log.status, f"{log.status}: {log.error_type}" if log.error_type else log.status

    @display(description="answered by")
    def target(self, log: LLMLog) -> str:
        return f"{log.model}: {log.provider}/{log.provider_model}"

    @display(description="tokens", ordering="input_tokens")
    def tokens(self, log: LLMLog) -> str:
        return f"{log.input_tokens:,} in ({log.cached_tokens:,} cached), {log.output_tokens:,} out"

    @display(description="time", ordering="duration_ms")
    def work(self, log: LLMLog) -> str:
        """Return duration and cost in one column, because each column adds 13 kB to the list."""
        return ", ".join(filter(None, [self.duration(log), self.cost(log)]))

    @display(description="cost", ordering="cost_usd")
    def cost(self, log: LLMLog) -> str:
        if log.cost_usd is None:
            return "no price" if log.input_tokens or log.output_tokens else ""
        return f"{log.cost_usd:.4f} USD"

    @display(description="time to first token", ordering="first_delta_ms")
    def first_token(self, log: LLMLog) -> str:
        return "" if log.first_delta_ms is None else f"{log.first_delta_ms / 1000:.1f} s"

    @display(description="time", ordering="duration_ms")
    def duration(self, log: LLMLog) -> str:
        return f"{log.duration_ms / 1000:.1f} s"

    @display(description="user")
    def for_user(self, log: LLMLog) -> SafeString:
        user = get_user_model().objects.filter(pk__in=[log.user_id]).first()
        return link_to_row(get_user_model(), user and user.pk, user)

    @display(description="session")
    def in_session(self, log: LLMLog) -> SafeString:
        return link_to_row(Session, log.session_id, str(log.session_id)[:8])

    @display(description="task")
    def of_task(self, log: LLMLog) -> SafeString:
        return link_to_row(Task, log.task_id, str(log.task_id)[:8])

    @display(description="session and task")
    def origin(self, log: LLMLog) -> SafeString:
        return format_html("{} {}", self.in_session(log), self.of_task(log))

    @display(description="agent")
    def of_agent(self, log: LLMLog) -> SafeString:
        version = AgentVersion.objects.filter(pk__in=[log.agent_version_id]).first()
        return link_to_row(AgentVersion, version and version.pk, version)

    @display(description="system prompt")
    def system_prompt(self, log: LLMLog) -> SafeString:
        return _blob(log.system_blob)

    @display(description="tool list")
    def tool_list(self, log: LLMLog) -> SafeString:
        return _blob(log.tools_blob)

    @display(description="compacted block")
    def compacted_block(self, log: LLMLog) -> SafeString:
        return _blob(log.compacted_blob)


@admin.register(Blob)
class BlobAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "created_at"]
    search_fields = ["sha256"]
    ordering = ["-created_at"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Blob]:
        blobs: QuerySet[Blob] = super().get_queryset(request)
        return blobs.defer("content")


def _blob(address: str) -> SafeString:
    return link_to_row(Blob, address or None, address[:12])
