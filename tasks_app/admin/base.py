"""Base classes of read-only admin pages, links between pages, and a filter for large tables."""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin, TabularInline

from llm_app.admin import ReadOnlyMixin, RedactedPagesMixin

ROWS = 25  # a page of the large tables


class LargeTable(ModelAdmin):
    """An admin for large tables: short pages, no count of all rows, and HTML without indentation, a quarter of it."""

    list_per_page = ROWS
    show_full_result_count = False

    def changelist_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().changelist_view(*args, **kwargs)
        if isinstance(response, TemplateResponse):
            response.add_post_render_callback(_without_indentation)
        return response


def _without_indentation(response: TemplateResponse) -> None:
    response.content = b"\n".join(filter(None, map(bytes.strip, response.content.split(b"\n"))))


def value_filter(column: str, names: Callable[[], Iterable[str]]) -> type[admin.SimpleListFilter]:
    """Return a list filter with the given values of a column. Django's own would read all rows to find them."""

    class ValueFilter(admin.SimpleListFilter):
        title, parameter_name = column.rpartition("__")[2].replace("_", " "), column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(name, name) for name in sorted({*names(), *filter(None, [self.value()])})]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{column: value}) if (value := self.value()) else queryset

    return ValueFilter


class ReadOnlyAdmin(RedactedPagesMixin, ReadOnlyMixin, LargeTable):
    """An admin of rows that nobody changes here, newest first, with secrets redacted."""

    ordering = ["-pk"]


class ReadOnlyInline(ReadOnlyMixin, TabularInline):
    extra = 0
    per_page = 20
    show_change_link = True
    tab = True


def link_to_row(model: type[Model], pk: Any, text: object) -> SafeString:
    """Return a link to the row's page, or "" without a row."""
    if pk is None:
        return SafeString("")
    return format_html('<a class="text-link" href="{}">{}</a>', reverse(_name(model, "change"), args=[pk]), text)


def link_to_rows(model: type[Model], text: object, **filters: Any) -> SafeString:
    """Return a link to the list of the rows that match the filters."""
    address = reverse(_name(model, "changelist"))
    return format_html('<a class="text-link" href="{}?{}">{}</a>', address, urlencode(filters), text)


def _name(model: type[Model], page: str) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
