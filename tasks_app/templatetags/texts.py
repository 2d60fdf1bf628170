"""Texts outside the templates: stored English sentences, and the texts of scripts."""

from django import template
from django.conf import settings
from django.utils.html import json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_noop as _

from tasks_app.text import sentences

register = template.Library()
register.filter(sentences.translated)

SCRIPT_TEXTS = (
    _("The server cannot be reached. Check your connection and try again."),
    _("The server made a mistake. Try again; an administrator finds it in the log."),
    _("Delete"),
    _("Testing…"),
    _("Copy"),
    _("Copied"),
    _("Do not attach {name}"),
    _("Folders cannot be attached. Choose the files in them."),
    _("You are signed out. Reload the page to sign in."),
    _("Too many pages of yours are open. Close some, then reload this one."),
    _("An administrator must add this address to ALLOWED_HOSTS."),
    _("This session was deleted, or is no longer shared with you."),
    _("The connection was lost. Reconnecting …"),
    _("Diagram"),
    _("Source"),
    _("Diagram (it cannot be drawn: see its source)"),
)
_UNITS = (  # units of documents
    *(ngettext_lazy("page", "pages"), ngettext_lazy("chapter", "chapters"), ngettext_lazy("part", "parts")),
    *(ngettext_lazy("cell", "cells"), ngettext_lazy("sheet", "sheets"), ngettext_lazy("slide", "slides")),
)


@register.filter
def unit(name: str, count: int = 1) -> str:
    """Return the name of a document's unit for a count."""
    return ngettext(name, f"{name}s", count)


@register.simple_tag
def script_texts() -> SafeString | str:
    """Return translations for `text` in app.js, or '' in English."""
    if get_language() == settings.LANGUAGE_CODE:
        return ""
    return json_script({text: gettext(text) for text in SCRIPT_TEXTS}, "texts")
