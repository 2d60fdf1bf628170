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
LONGEST = 255


def idempotent(handler: Handler) -> Handler:
    """Decorate a view's `post` to return the stored response of a key for 24 hours, including refusals.

    The key is stored in the transaction of the work. Concurrent requests wait for each other in the database, and a
    crash stores neither work nor key.
    """

    @functools.wraps(handler)
    def answered(view: APIView, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return handler(view, request, *args, **kwargs)
        with transaction.atomic():
            row, is_new = _row(request, _valid(key))
            if not is_new:
                return _again(row)
            response = _answer(view, handler, request, *args, **kwargs)
            _keep(row, response)
            return response

    return extend_schema(parameters=[KEY])(answered)


def earlier_answer(request: Request) -> Response | None:
    """Return the stored response of the same request, or None.

    Views call it before expensive work that precedes their transaction.
    Raises ValidationError for an invalid key or the key of another request.
    """
    user: Any = request.user
    if (key := request.headers.get(HEADER)) is None:
        return None
    kept = IdempotencyKey.objects.filter(user=user).unexpired()
    fingerprint = _fingerprint(request)  # the body is readable only before it is parsed
    row = kept.filter(key=_valid(key)).first()
    return _again(_same(row, fingerprint)) if row else None


def _valid(key: str) -> str:
    if not 0 < len(key) <= LONGEST or storable(key) != key:
        raise ValidationError({HEADER: [f"A key has 1 to {LONGEST} characters."]})
    return key


def _row(request: Request, key: str) -> tuple[IdempotencyKey, bool]:
    """Return the row of the key, and whether this request created it.

    Raises ValidationError for the key of another request.
    """
    user: Any = request.user
    IdempotencyKey.objects.filter(user=user).expired().delete()
    fingerprint = _fingerprint(request)
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(user=user, key=key, request_sha256=fingerprint), True
    except IntegrityError:
        return _same(IdempotencyKey.objects.get(user=user, key=key), fingerprint), False


def _same(row: IdempotencyKey, fingerprint: str) -> IdempotencyKey:
    if row.request_sha256 != fingerprint:
        raise ValidationError({HEADER: ["This key belongs to another request. Use a new one."]})
    return row


def _fingerprint(request: Request) -> str:
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


def _answer(view: APIView, handler: Handler, request: Request, *args: Any, **kwargs: Any) -> Response:
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


def _keep(row: IdempotencyKey, response: Response) -> None:
    row.status, row.answer = response.status_code, orjson.loads(JSONRenderer().render(response.data))
    row.save(update_fields=["status", "answer"])


def _again(row: IdempotencyKey) -> Response:
    assert row.status is not None  # set in the transaction that creates the row
    return Response(row.answer, row.status, content_type=CONTENT_TYPE if row.status >= 400 else None)


KEY = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="The same key with the same body gives the same answer for 24 hours, and starts nothing twice.",
)
