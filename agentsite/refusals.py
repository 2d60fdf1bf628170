"""Pages for requests that are refused before a view sees them: a foreign host, a foreign origin, a missing cookie."""

from typing import Any

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.translation import gettext as _

from tasks_app import origins
from tasks_app.api.problems import CONTENT_TYPE, Problem, form_limit_error


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that is unreadable, too large, or for a foreign host. Django has logged the reason."""
    with translation.override(translation.get_language_from_request(request)):
        if isinstance(exception, DisallowedHost):
            title, sentence = _("Not an address of this server"), origins.host_sentence(request)
            return _refusal(request, 400, "400.html", title, sentence)
        if bound := form_limit_error(exception):
            status, sentence = bound
            return _refusal(request, status, "400.html", _("Too much at once"), sentence)
        return _refusal(request, 400, "400.html", _("Not understood"), _("The server could not read this request."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that failed Django's CSRF check, and log which setting is missing."""
    origins.log_untrusted_proxy(request)
    sentence = origins.csrf_sentence(request, reason) or _(
        "Nothing was sent: you have signed in or out since this page was loaded. Reload it and try again."
    )
    title = _("Not an address of this server") if origins.is_origin_failure(reason) else _("This page is out of date")
    return _refusal(request, 403, "403_csrf.html", title, sentence)


def _refusal(request: HttpRequest, status: int, template: str, title: str, sentence: str) -> HttpResponse:
    if request.path_info.startswith("/api/"):
        body = Problem(status=status, detail=sentence).body
        return JsonResponse(body, status=status, content_type=CONTENT_TYPE)
    context: dict[str, Any] = {"title": title, "sentence": sentence, "level": "error"}
    return render(request, template, context, status=status)
