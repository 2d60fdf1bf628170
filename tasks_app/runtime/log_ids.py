"""Each line of the log says what it is about: the ids of its request, user, session and task.

Work on the event loop and in threads of asyncio inherits them; a wake-up carries the request's id to the worker.
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
_FROM_OUTSIDE = re.compile(r"[A-Za-z0-9_.-]{1,64}")  # a proxy's id; nothing that could look like another line
_ids: ContextVar[Mapping[str, Any]] = ContextVar("log_ids", default={})  # noqa: B039  never written to


@contextmanager
def bound(**ids: Any) -> Iterator[None]:
    """Lines that are logged in the block carry these ids besides those from outside of it. A value may be a function
    that finds the id when a line is written; ids that are empty are left out."""
    token = _ids.set({**_ids.get(), **ids})
    try:
        yield
    finally:
        _ids.reset(token)


def current_ids() -> dict[str, str]:
    found = {name: value() if callable(value) else value for name, value in _ids.get().items()}
    return {name: str(value) for name, value in found.items() if value}


class AddIds(logging.Filter):
    """Gives each record `ids`, and `suffix`: the same as text."""

    def filter(self, record: logging.LogRecord) -> bool:
        ids = current_ids()
        words = " ".join(f"{name}={value}" for name, value in ids.items())
        record.__dict__ |= {"ids": ids, "suffix": f" [{words}]" if words else ""}
        return True


class RequestIds:
    """Middleware: a request has an id, its proxy's or a new one, which the response names, too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.headers.get(HEADER, "")
        request_id = given if _FROM_OUTSIDE.fullmatch(given) else uuid.uuid4().hex[:16]
        with bound(request=request_id, user=lambda: _known_user(request)):
            response = self._get_response(request)
        response[HEADER] = request_id
        return response


def _known_user(request: HttpRequest) -> object:
    """Who has been found to make the request. Looking it up for a line of the log would ask the database."""
    user = request.__dict__.get("_cached_user") or request.__dict__.get("user")
    return user.__dict__.get("id") if user is not None else None
