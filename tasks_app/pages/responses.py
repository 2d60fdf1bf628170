"""Responses to forms: a fragment for htmx, or a redirect with a message. Repeated submissions are detected by a key."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from tasks_app.access import Request, posted
from tasks_app.models import IdempotencyKey
from tasks_app.models.errors import Refusal
from tasks_app.text import sentences
from tools_app.errors import ToolError

MAX_KEY_LENGTH = 40  # characters. Pages make shorter keys


def done(request: Request, to: Any, message: str = "", *, extra_html: str = "") -> HttpResponse:
    """Report success. The page gets changes as live updates, and `extra_html` with this response."""
    if request.htmx:
        if not message:
            return HttpResponse(status=204)
        return render(request, "_toast.html", {"text": message, "also": extra_html})
    if message:
        messages.success(request, message)
    return redirect(to)


def refused(request: Request, to: Any, error: Refusal | ToolError, *, extra_html: str = "") -> HttpResponse:
    """Report the reason of a refusal. `extra_html` has fragments with the current state."""
    if request.htmx:
        status = error.status if isinstance(error, Refusal) else 409
        toast = {"text": sentences.translated(str(error)), "level": "error", "also": extra_html}
        response = render(request, "_toast.html", toast, status=status)
        if seconds := getattr(error, "retry_after", None):
            response.headers["Retry-After"] = str(seconds)
        return response
    messages.error(request, sentences.translated(str(error)))
    return redirect(to)


def earlier_submission(request: Request, content: str, answer: str | None = None) -> IdempotencyKey | None:
    """Return the row of an earlier submission of this form, or None. Call it in the transaction of the work.

    A form is submitted again if the first response was lost. The key of the form is stored with the `answer`.
    """
    key = _key(request)
    if not key:
        return None
    row, is_new = IdempotencyKey.objects.get_or_store(request.user, key, _fingerprint(request, content), answer)
    return None if is_new else row


def is_repeated(request: Request, content: str) -> bool:
    """Return whether the form was submitted before, for work outside the transaction."""
    return IdempotencyKey.objects.has(request.user, _key(request), _fingerprint(request, content))


def _key(request: Request) -> str:
    return posted(request, "key")[:MAX_KEY_LENGTH]


def _fingerprint(request: Request, content: str) -> str:
    return f"{request.path}\n{content}"
