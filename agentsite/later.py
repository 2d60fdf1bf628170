"""What a page cannot do now, but soon: a sentence and the time to wait, as REST says it."""

import logging

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin

from agentsite.accounts.tries import TooManyTries
from tasks_app.api.problems import BUSY, BUSY_SECONDS

logger = logging.getLogger(__name__)


class TryAgainLater(MiddlewareMixin):
    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        match exception:
            case OperationalError():
                logger.warning("a page was not served: %s", exception)
                return _later(request, 503, BUSY, BUSY_SECONDS)
            case TooManyTries():
                return _later(request, 429, str(exception), exception.seconds)
        return None


def _later(request: HttpRequest, status: int, said: str, seconds: int) -> HttpResponse:
    """Rendered without the request, which would ask the database who it is."""
    context = {"htmx": bool(getattr(request, "htmx", False)), "said": said, "level": "error"}
    page = render_to_string("later.html", context)
    return HttpResponse(page, status=status, headers={"Retry-After": str(seconds)})
