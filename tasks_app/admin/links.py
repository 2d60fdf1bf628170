"""From one page of the admin to the next."""

from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString


def to_row(model: type[Model], pk: Any, text: object) -> SafeString:
    """A link to a row's page; nothing where there is no row."""
    if pk is None:
        return SafeString("")
    return format_html('<a class="text-link" href="{}">{}</a>', reverse(_name(model, "change"), args=[pk]), text)


def to_rows(model: type[Model], text: object, **filters: Any) -> SafeString:
    """A link to the list of the rows that fit."""
    address = reverse(_name(model, "changelist"))
    return format_html('<a class="text-link" href="{}?{}">{}</a>', address, urlencode(filters), text)


def _name(model: type[Model], page: str) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
