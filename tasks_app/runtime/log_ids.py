"""The ids in log lines: of the request, user, session and task that a line is about.

Work on the event loop and in threads of asyncio inherits them. A wake-up carries the request's id to the worker.
"""

import logging
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.http import HttpRequest, HttpResponseBase

HEADER = "X-Request-ID"
_FROM_OUTSIDE = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # a proxy's id, which cannot imitate another log line
_ids: ContextVar[Mapping[str, Any]] = ContextVar("log_ids", default={})  # noqa: B039  never written to


@contextmanager
def bound(**ids: Any) -> Iterator[None]:
    """Add ids to log lines of the block, besides those of the blocks around it.

    A value is allowed to be a function, which is called when a line is written. Empty ids are left out.
    """
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def current_ids() -> dict[str, str]:
    ids = {name: value() if callable(value) else value for name, value in _ids.get().items()}
    return {name: str(value) for name, value in ids.items() if value}


class AddIds(logging.Filter):
    """A filter that adds `ids` to each record, and `suffix`, the same as text."""

    def filter(self, record: logging.LogRecord) -> bool:
        ids = current_ids()
        text = " ".join(f"{name}={value}" for name, value in ids.items())
        record.__dict__ |= {"ids": ids, "suffix": f" [{text}]" if text else ""}
        return True


class RequestIds:
    """Middleware that gives each request an id, its proxy's or a new one, and returns it in a header."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        received_id = request.headers.get(HEADER, "")
        request_id = received_id if _FROM_OUTSIDE.fullmatch(received_id) else uuid.uuid4().hex[:16]
        with bound(request=request_id, user=lambda: _known_user(request)):
            response = self._get_response(request)
        response[HEADER] = request_id
        return response


def _known_user(request: HttpRequest) -> object:
    """Return the id of the user if it is already known. A log line must not cause a query."""
    user = request.__dict__.get("_cached_user") or request.__dict__.get("user")
    return user.__dict__.get("id") if user is not None else None
