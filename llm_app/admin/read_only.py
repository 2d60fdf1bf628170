"""Mixins for read-only and redacted pages of the admin."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from llm_app import active_secrets


class ReadOnlyMixin:
    """A mixin for an admin or an inline: rows cannot be added, changed or deleted."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class RedactedPagesMixin:
    """A mixin for an admin without editable forms: a form with redacted values must never be saved."""

    def changelist_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return redacted(super().changelist_view(*args, **kwargs))  # type: ignore[misc]

    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return redacted(super().changeform_view(*args, **kwargs))  # type: ignore[misc]

    def history_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        return redacted(super().history_view(*args, **kwargs))  # type: ignore[misc]


def redacted(response: HttpResponse) -> HttpResponse:
    """Redact the secrets of all users in a rendered page, including escaped ones."""
    if isinstance(response, TemplateResponse):
        response.add_post_render_callback(_redact)
    return response


def _redact(response: TemplateResponse) -> None:
    response.content = active_secrets.for_everyone().redactor.redacted(response.content.decode()).encode()
