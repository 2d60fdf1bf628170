"""Lists in pages: `next`, `previous`, `results`, by a cursor that stays valid while rows are added."""

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import BasePagination, CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response


class ByCursor(CursorPagination):
    page_size_query_param = "limit"

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: Any = None) -> list[Any] | None:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, ValidationError) as error:  # a cursor that somebody made up
            raise NotFound(self.invalid_cursor_message) from error


class NewestFirst(ByCursor):
    ordering = "-created_at"
    max_page_size = 200


class OldestFirst(ByCursor):
    ordering = "created_at"
    page_size = 100
    max_page_size = 200


class BySeq(ByCursor):
    """Entries, oldest first."""

    ordering = "seq"
    page_size = 200
    max_page_size = 1000


class Whole(BasePagination):
    """A list that is short by its nature: all of it, in the form of a page."""

    def paginate_queryset(self, queryset: Iterable[Any], request: Request, view: Any = None) -> list[Any]:
        return list(queryset)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"next": None, "previous": None, "results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return CursorPagination().get_paginated_response_schema(schema)
