from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display

from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.models import MemoryNote


@admin.register(MemoryNote)
class MemoryNoteAdmin(ReadOnlyAdmin):
    """Looked at and deleted here; written on the page Memory, the team's by administrators."""

    list_display = ["__str__", "belongs_to", "auto", "changed_at"]
    list_filter = ["auto", ("owner", admin.EmptyFieldListFilter)]
    list_select_related = ["owner"]
    search_fields = ["text", "owner__username"]
    date_hierarchy = "created_at"

    @display(description="belongs to", ordering="owner__username")
    def belongs_to(self, note: MemoryNote) -> str:
        return str(note.owner or "the whole team")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(ModelAdmin.has_delete_permission(self, request, obj))
