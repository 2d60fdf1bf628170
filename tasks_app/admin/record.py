from django.contrib import admin
from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce, Left, NullIf
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from llm_app import active_secrets
from llm_app.redaction import seen_values
from tasks_app.admin import links
from tasks_app.admin.base import ReadOnlyAdmin, ReadOnlyInline
from tasks_app.models import ContextEntry, Session, Task

_BEGINNING = 120  # characters
_LONG = ("content", "thinking", "tool_call", "metadata")


def _shortened(entries: QuerySet[ContextEntry]) -> QuerySet[ContextEntry]:
    """A list shows how each entry begins, a call where it says nothing, and loads no more of it."""
    active_secrets.of_everyone()  # from here on they are known, and a list asks once, not for each row
    said = Coalesce(NullIf("content", Value("")), "tool_call")
    return entries.annotate(beginning=Left(said, _BEGINNING)).defer(*_LONG)


def _beginning(entry: ContextEntry) -> str:
    """It is cut: a half of a secret at its end would not be found any more when the page is redacted."""
    beginning: str = entry.beginning  # type: ignore[attr-defined]
    return seen_values.redactor().redacted_beginning(beginning)


class EntryInline(ReadOnlyInline):
    model = ContextEntry
    fields = ["seq", "context_type", "in_context", "begins", "created_at"]
    readonly_fields = fields
    ordering = ["seq"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ContextEntry]:
        return _shortened(super().get_queryset(request))

    @display(description="begins")
    def begins(self, entry: ContextEntry) -> str:
        return _beginning(entry)


@admin.register(ContextEntry)
class EntryAdmin(ReadOnlyAdmin):
    list_display = ["seq", "context_type", "in_context", "begins", "in_session", "of_task", "created_at"]
    list_filter = ["context_type", "in_context"]
    search_fields = ["content"]
    date_hierarchy = "created_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[ContextEntry]:
        return _shortened(super().get_queryset(request)).select_related("session")

    @display(description="begins")
    def begins(self, entry: ContextEntry) -> str:
        return _beginning(entry)

    @display(description="session")
    def in_session(self, entry: ContextEntry) -> SafeString:
        return links.to_row(Session, entry.session_id, entry.session)

    @display(description="task")
    def of_task(self, entry: ContextEntry) -> SafeString:
        return links.to_row(Task, entry.task_id, str(entry.task_id)[:8])
