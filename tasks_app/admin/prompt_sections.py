from typing import Any

from django.http import HttpRequest
from unfold.admin import StackedInline

from tasks_app.models import PromptSection


class PromptSectionInline(StackedInline):
    """All versions, newest first. One can be added, none can be changed or deleted."""

    model = PromptSection
    verbose_name = "version of a section"
    verbose_name_plural = "prompt: sections in your own words, all versions, newest first"
    fields = ["section", "text", "author", "created_at"]
    readonly_fields = ["author", "created_at"]
    ordering = ["-pk"]
    extra = 0
    per_page = 20
    tab = True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
