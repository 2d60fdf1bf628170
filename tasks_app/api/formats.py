"""Parsers, renderers, serializer fields and pagination of REST.

A page is `next`, `previous` and `results`. Its cursors stay valid while rows are added.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import IO, Any

import orjson
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import BasePagination, CursorPagination
from rest_framework.parsers import BaseParser, FileUploadParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from tasks_app.api.problems import TooLarge, size_limit_sentence
from tools_app.json_schema import MAX_DEPTH, depth

MAX_SEQ = 2**31 - 1  # seq is a 32-bit column
MAX_VALUES = 20_000  # objects, lists and their items in a body
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # possessive, so that an unclosed string costs linear time


class JSONBody(BaseParser):
    """A parser of strict JSON with limits of bytes, values and depth. Raises TooLarge and ParseError."""

    media_type = "application/json"

    @property
    def limit(self) -> int:
        return int(settings.JSON_BYTES)

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        body = stream.read(self.limit + 1)
        if len(body) > self.limit:
            raise TooLarge(size_limit_sentence(self.limit))
        if _values(body) > MAX_VALUES and _values(_STRING.sub(b"", body)) > MAX_VALUES:
            raise ParseError(f"The body has more than {MAX_VALUES} values. Send fewer at once.")
        try:
            value = orjson.loads(body)
        except ValueError as error:
            raise ParseError(f"The body is not valid JSON: {error}.") from error
        if body.count(b"[") + body.count(b"{") > MAX_DEPTH and depth(value) > MAX_DEPTH:  # later readers are recursive
            raise ParseError(f"The body is nested more than {MAX_DEPTH} levels deep.")
        return value


class MessageBody(JSONBody):
    """A parser of JSON with a message of up to 1 MiB. Escaped, the message takes more bytes."""

    @property
    def limit(self) -> int:
        return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def _values(body: bytes) -> int:
    """Return the number of lists, objects and separators, including those inside strings."""
    return sum(map(body.count, (b"[", b"{", b",")))


class OrjsonRenderer(JSONRenderer):
    """A JSON renderer ten times as fast as DRF's, which renders the values that orjson refuses."""

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> Any:
        try:
            return b"" if data is None else orjson.dumps(data)
        except TypeError:
            return super().render(data, accepted_media_type, renderer_context)


class RawBody(FileUploadParser):
    """A parser that takes the body as a file, whatever its Content-Type. The file's path is in the URL."""

    def get_filename(self, stream: object, media_type: object, parser_context: object) -> str:
        return "body"


class IgnoreAccept(DefaultContentNegotiation):
    """Content negotiation that ignores Accept: files and event streams have a fixed type, and errors are JSON."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:
        return JSONRenderer(), JSONRenderer.media_type


def as_time(time: datetime) -> str:
    """Format a time as fields of DRF do, always in UTC."""
    return time.isoformat().replace("+00:00", "Z")


class Text(serializers.CharField):
    """A field for a JSON string. It refuses numbers and trims no spaces."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"trim_whitespace": False, **options})

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return super().to_internal_value(data)


class Seq(serializers.IntegerField):
    """A field for the number of an entry. 0, the default, is before the first entry."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"required": False, "default": 0, "min_value": 0, "max_value": MAX_SEQ, **options})


def validated_query(query: type[serializers.Serializer[Any]], request: Request) -> Mapping[str, Any]:
    """Return the validated query parameters. The result for a request without any is cached."""
    if query._declared_fields.keys().isdisjoint(request.query_params):
        return _default_query(query)
    return _validated(query, request.query_params)


def _validated(query: type[serializers.Serializer[Any]], parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    serializer = query(data=parameters)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


@lru_cache
def _default_query(query: type[serializers.Serializer[Any]]) -> Mapping[str, Any]:
    return _validated(query, {})


class ByCursor(CursorPagination):
    page_size_query_param = "limit"

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: Any = None) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, ValidationError) as error:  # an invented cursor
            raise NotFound(self.invalid_cursor_message) from error


class NewestFirst(ByCursor):
    ordering = "-created_at"
    max_page_size = 200


class NewestByKey(NewestFirst):
    """Newest first, and by key where times are equal."""

    ordering = ("-created_at", "-pk")  # type: ignore[assignment]  # a tuple is allowed


class ByNumber(ByCursor):
    """Pagination by id, newest first."""

    ordering = "-pk"
    max_page_size = 200


class OldestFirst(ByCursor):
    ordering = "created_at"
    page_size = 100
    max_page_size = 200


class BySeq(ByCursor):
    """Pagination of entries, oldest first."""

    ordering = "seq"
    page_size = 200
    max_page_size = 1000


class SinglePage(BasePagination):
    """Pagination of short lists: all rows in one page."""

    def paginate_queryset(self, queryset: Iterable[Any], request: Request, view: Any = None) -> list[Any]:
        return list(queryset)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": None, "previous": None, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return CursorPagination().get_paginated_response_schema(schema)
