"""The header `Idempotency-Key`: a repeated request runs once and gets the same response."""

import functools
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import orjson
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from tasks_app.api.formats import RawBody
from tasks_app.api.problems import CONTENT_TYPE
from tasks_app.models import IdempotencyKey
from tasks_app.models.errors import Refusal
from tasks_app.record import storable

Handler = Callable[..., Response]
HEADER = "Idempotency-Key"
MAX_KEY_LENGTH = 255


def idempotent(handler: Handler) -> Handler:
    """Decorate a view's `post` to return the stored response of a key for 24 hours, including refusals.

    The key is stored in the transaction of the work. Concurrent requests wait for each other in the database, and a
    crash stores neither work nor key.
    """

    @functools.wraps(handler)
    def wrapper(view: APIView, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(view, request, *args, **kwargs)
        with transaction.atomic():
            row, is_new = _key_row(request, _checked_key(key))
            if not is_new:
                return _response_of(row)
            response = _response_or_refusal(view, handler, request, *args, **kwargs)
            row.status, row.answer = response.status_code, orjson.loads(JSONRenderer().render(response.data))
            row.save(update_fields=["status", "answer"])
            return response

    return extend_schema(parameters=[KEY])(wrapper)


def stored_response(request: Request) -> Response | None:
    """Return the stored response of the same request, or None.

    Views call it before expensive work that precedes their transaction.
    Raises ValidationError for an invalid key or the key of another request.
    """
    user: Any = request.user
    if (key := request.headers.get(HEADER)) is None:
        return None
    keys = IdempotencyKey.objects.filter(user=user).unexpired()
    digest = _request_digest(request)  # the body is readable only before it is parsed
    row = keys.filter(key=_checked_key(key)).first()
    return _response_of(_require_same_request(row, digest)) if row else None


def _checked_key(key: str) -> str:
    if not 0 < len(key) <= MAX_KEY_LENGTH or storable(key) != key:
        raise ValidationError({HEADER: [f"A key has 1 to {MAX_KEY_LENGTH} characters."]})
    return key


def _key_row(request: Request, key: str) -> tuple[IdempotencyKey, bool]:
    """Return the row of the key, and whether this request created it.

    Raises ValidationError for the key of another request.
    """
    user: Any = request.user
    IdempotencyKey.objects.filter(user=user).expired().delete()
    digest = _request_digest(request)
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(user=user, key=key, request_sha256=digest), True
    except IntegrityError:
        return _require_same_request(IdempotencyKey.objects.get(user=user, key=key), digest), False


def _require_same_request(row: IdempotencyKey, digest: str) -> IdempotencyKey:
    if row.request_sha256 != digest:
        raise ValidationError({HEADER: ["This key belongs to another request. Use a new one."]})
    return row


def _request_digest(request: Request) -> str:
    digest = hashlib.sha256(b"\n".join((str(request.method).encode(), request.path.encode(), b"")))
    for part in _body(request):
        digest.update(part)
    return digest.hexdigest()


def _body(request: Request) -> Iterator[bytes]:
    """Yield the body in parts. A raw body is a file, which may be too large for memory."""
    if not any(isinstance(parser, RawBody) for parser in request.parsers or ()):
        yield request.body
        return
    for file in request.FILES.values():
        yield from file.chunks()
        file.seek(0)


def _response_or_refusal(view: APIView, handler: Handler, request: Request, *args: Any, **kwargs: Any) -> Response:
    """Return the handler's response, or the response of a refusal, which rolls back the handler's work.

    Other errors, and refusals that name a time to retry, propagate. They roll back the key as well.
    """
    try:
        with transaction.atomic():
            return handler(view, request, *args, **kwargs)
    except (Refusal, APIException, Http404, PermissionDenied) as error:
        if getattr(error, "retry_after", None):
            raise
        return view.handle_exception(error)


def _response_of(row: IdempotencyKey) -> Response:
    assert row.status is not None  # set in the transaction that creates the row
    return Response(row.answer, row.status, content_type=CONTENT_TYPE if row.status >= 400 else None)


KEY = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="The same key with the same body gives the same answer for 24 hours, and starts nothing twice.",
)
