"""How forms are answered, once each: a fragment for htmx, a redirect with a message for a browser without it."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from tasks_app.access import Request, posted
from tasks_app.models import IdempotencyKey
from tasks_app.models.errors import Refusal
from tasks_app.text import sentences
from tools_app.errors import ToolError

LONGEST_KEY = 40  # characters; a page makes shorter ones


def done(request: Request, to: Any, said: str = "", *, also: str = "") -> HttpResponse:
    """Nothing to show beyond what the page hears by itself, and the fragments `also`."""
    if request.htmx:
        return render(request, "_toast.html", {"text": said, "also": also}) if said else HttpResponse(status=204)
    if said:
        messages.success(request, said)
    return redirect(to)


def refused(request: Request, to: Any, error: Refusal | ToolError, *, also: str = "") -> HttpResponse:
    """Why it was not done, in a sentence. `also` are fragments that show the current state instead."""
    if request.htmx:
        status = error.status if isinstance(error, Refusal) else 409
        toast = {"text": sentences.translated(str(error)), "level": "error", "also": also}
        response = render(request, "_toast.html", toast, status=status)
        if seconds := getattr(error, "retry_after", None):
            response.headers["Retry-After"] = str(seconds)
        return response
    messages.error(request, sentences.translated(str(error)))
    return redirect(to)


def sent_before(request: Request, content: str, answer: str | None = None) -> IdempotencyKey | None:
    """In the transaction of the work: the row of the first time, if a form comes again because its answer was lost.

    Each load of a page and each message has a key, which is kept with the `answer`.
    """
    if not (key := _key(request)):
        return None
    row, is_new = IdempotencyKey.objects.get_or_store(request.user, key, _sent(request, content), answer)
    return None if is_new else row


def has_come_before(request: Request, content: str) -> bool:
    """Whether a form has, for what is done before the transaction of the work."""
    return IdempotencyKey.objects.has(request.user, _key(request), _sent(request, content))


def _key(request: Request) -> str:
    return posted(request, "key")[:LONGEST_KEY]


def _sent(request: Request, content: str) -> str:
    return f"{request.path}\n{content}"
