"""Errors as `application/problem+json` (RFC 9457), and their OpenAPI schema."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core import exceptions as django
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, UnreadablePostError
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException, MethodNotAllowed, ValidationError
from rest_framework.response import Response

from tasks_app import origins
from tasks_app.models import Project, Session, Task
from tasks_app.models.errors import Refusal
from tasks_app.runtime.broadcast import drop_broken_connections

logger = logging.getLogger(__name__)
NOT_FOUND_DETAIL = "This does not exist, or it is not shared with you."
CONTENT_TYPE = "application/problem+json"
_DETAILS: Sequence[tuple[tuple[type[Exception], ...], tuple[int, str]]] = (
    ((Http404,), (404, NOT_FOUND_DETAIL)),
    ((django.BadRequest, django.SuspiciousOperation, UnreadablePostError), (400, "The request cannot be read.")),
)
_CSRF = "CSRF Failed: "  # the prefix that Django REST framework gives to CSRF errors
_NO_SUCH_ROW = "23503"
_SERVER_ERROR = (500, "The server failed; an administrator can find the details in the log.")


PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `errors` says by field what is wrong.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {"type": "object", "additionalProperties": {}},
    },
    "required": ["type", "title", "status", "detail"],
}
PROBLEM_RESPONSE = {
    "description": "A problem",
    "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
BUSY, BUSY_SECONDS = "The database is busy. Try again in a few seconds.", 5


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem document of RFC 9457. `errors` lists the faults of a valid request by field."""

    status: int
    detail: str
    errors: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        body = {"type": "about:blank", "title": HTTPStatus(self.status).phrase, "status": self.status}
        return {**body, "detail": self.detail} | ({"errors": self.errors} if self.errors else {})


def size_limit_sentence(limit: int) -> str:
    """Return a sentence with the largest size of a request."""
    size = f"{limit // 1024**2} MiB" if limit >= 1024**2 else f"{limit // 1024} KiB"
    return _("At most {size} can be sent at once. Send smaller files or texts, or fewer of them.").format(size=size)


def form_limit_error(error: Exception) -> tuple[int, str] | None:
    """Return status and sentence for a form with too many files, fields or bytes; None for any other error."""
    match error:
        case django.TooManyFilesSent():
            most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
            sentence = _(
                "Nothing was sent: at most {most} files can be sent at once. Send fewer, or an archive of them."
            )
            return 400, sentence.format(most=most)
        case django.TooManyFieldsSent():
            sentence = _("Nothing was sent: a form may have at most {most} fields. Send less at once.")
            return 400, sentence.format(most=f"{settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,}")
        case django.RequestDataTooBig():
            return 413, size_limit_sentence(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    return None


class TooLarge(APIException):
    """A body over its limit."""

    status_code = 413
    default_detail = "The request is too large."


def exception_handler(error: Exception, context: dict[str, Any]) -> Response:
    """Return the problem response for an error, as DRF's exception handler. Log unknown errors and return 500."""
    problem = problem_of(error)
    if problem.detail.startswith(_CSRF):
        request: HttpRequest = context["request"]._request
        origins.log_untrusted_proxy(request)
        advice = origins.csrf_sentence(request, problem.detail.removeprefix(_CSRF))
        problem = replace(problem, detail=advice or problem.detail)
    if problem.status == 503:
        logger.warning("a request was not served: %s", error)
        if isinstance(error, (OperationalError, InterfaceError)):
            drop_broken_connections()
    elif problem.status >= 500:
        logger.error("a request failed by a fault of the server", exc_info=error)
    return Response(problem.body, problem.status, headers=dict(problem.headers), content_type=CONTENT_TYPE)


def problem_of(error: Exception) -> Problem:
    match error:
        case Refusal():
            errors: Mapping[str, Any] = {error.field: [str(error)]} if error.field else {}
            headers = {"Retry-After": str(error.retry_after)} if error.retry_after else {}
            return Problem(status=error.status, detail=str(error), errors=errors, headers=headers)
        case ValidationError():
            errors = error.detail if isinstance(error.detail, dict) else {"non_field_errors": error.detail}
            names = ", ".join(str(name) for name in errors if name != "non_field_errors")
            detail = f"Invalid: {names}." if names else "The request is invalid."
            return Problem(status=422, detail=detail, errors=errors)
        case APIException():
            detail = "This method is not allowed here." if isinstance(error, MethodNotAllowed) else str(error.detail)
            challenge = getattr(error, "auth_header", None)  # set by DRF on 401
            headers = {"WWW-Authenticate": challenge} if challenge else {}
            return Problem(status=error.status_code, detail=detail, headers=headers)
        case django.PermissionDenied():
            return Problem(status=403, detail=str(error) or "You may not do this.")
        case OperationalError() | InterfaceError():
            return Problem(status=503, detail=BUSY, headers={"Retry-After": str(BUSY_SECONDS)})
        case _ if is_target_deleted(error):
            return Problem(status=404, detail=NOT_FOUND_DETAIL)
    known_errors = (problem for types, problem in _DETAILS if isinstance(error, types))
    status, detail = form_limit_error(error) or next(known_errors, _SERVER_ERROR)
    return Problem(status=status, detail=detail)


def is_target_deleted(error: Exception) -> bool:
    """Return whether the error means that the session, task or project was deleted during the request.

    A foreign key error counts: the request then stored a row that refers to a deleted one.
    """
    if not isinstance(error, IntegrityError):
        return isinstance(error, (Session.DoesNotExist, Task.DoesNotExist, Project.DoesNotExist))
    return getattr(error.__cause__, "sqlstate", "") == _NO_SUCH_ROW or "FOREIGN KEY" in str(error)  # PostgreSQL, SQLite


def add_problem_responses(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Add the problem response to every operation, as a postprocessing hook of drf-spectacular."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    for operations in result["paths"].values():
        for operation in operations.values():
            operation["responses"]["default"] = PROBLEM_RESPONSE
    return result
