"""In the admin, the very request of a call: what is new in it, the whole, and its bytes."""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path, reverse
from django.utils.safestring import SafeString
from unfold.decorators import display

from llm_app.models import LLMLog
from tasks_app.errors import Refusal
from tasks_app.replay import sent
from tasks_app.replay.readable import difference, parts_of


class ShowsRequest:
    """For the admin of LLM calls. `the_request` is rebuilt from the record whenever a call's page is opened."""

    def get_urls(self) -> list[Any]:
        download = self.admin_site.admin_view(self._download)  # type: ignore[attr-defined]
        own = [path("<uuid:call_id>/request/", download, name="llm_app_llmlog_request")]
        urls: list[Any] = super().get_urls()  # type: ignore[misc]
        return [*own, *urls]

    def _download(self, request: HttpRequest, call_id: UUID) -> HttpResponse:
        """The very bytes, for those who may look at calls."""
        if not self.has_view_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        try:
            body = sent.sent(LLMLog.objects.get(pk=call_id)).body
        except (LLMLog.DoesNotExist, Refusal) as error:
            raise Http404(str(error)) from error
        headers = {"Content-Disposition": f'attachment; filename="request-{call_id}.json"'}
        return HttpResponse(body, content_type="application/json", headers=headers)

    @display(description="what was sent")
    def the_request(self, log: LLMLog) -> SafeString:
        try:
            found = sent.sent(log)
            before = sent.before(log)
            new = difference(sent.sent(before).body, found.body) if before else []
        except Refusal as error:
            return render_to_string("admin/llm_app/request.html", {"fault": error})
        context = {
            "parts": parts_of(found.body),
            "is_redacted": found.is_redacted,
            "before": before,
            "new": "\n".join(line for _, line in new),
            "download": reverse("admin:llm_app_llmlog_request", args=[log.pk]),
        }
        return render_to_string("admin/llm_app/request.html", context)
