"""The admin of secrets, memory notes, limits, and the processes that run tasks."""

from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from unfold.admin import ModelAdmin
from unfold.decorators import display

from llm_app.admin import WriteOnlyAdmin, WriteOnlyForm
from llm_app.models import Secret
from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.models import ALIVE_SECONDS, EngineProcess, Limits, MemoryNote
from tasks_app.services import secrets

MAX_NAMED_ENTRIES = 10  # entries that the message names


class SecretForm(WriteOnlyForm):
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        value = cleaned.get("value") or self.instance.value
        if value and {"name", "owner", "value"} & set(self.changed_data):
            refusal = secrets.refusal_of(cleaned.get("owner"), cleaned.get("name", ""), value)
            if refusal and refusal.field in self.fields:
                self.add_error(refusal.field, str(refusal))
        if cleaned.get("owner") and cleaned.get("roles"):
            self.add_error(
                "roles",
                "Only a secret of the team can have roles; this one has an owner, whose tasks alone may use it.",
            )
        return cleaned


@admin.register(Secret)
class SecretAdmin(WriteOnlyAdmin):
    form = SecretForm
    list_display = ["name", "belongs_to", "usable_by", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["name", "owner__username"]
    autocomplete_fields = ["owner", "roles"]
    fields = ["name", "owner", "roles", "value"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Secret]:
        secrets: QuerySet[Secret] = super().get_queryset(request)
        return secrets.prefetch_related("roles")

    @display(description="belongs to", ordering="owner__username")
    def belongs_to(self, secret: Secret) -> str:
        return str(secret.owner or "the team")

    @display(description="usable by")
    def usable_by(self, secret: Secret) -> str:
        return str(secret.owner or ", ".join(role.name for role in secret.roles.all()) or "administrators")

    def save_model(self, request: HttpRequest, obj: Secret, form: Any, change: bool) -> None:
        """Save the secret, and warn of entries of the record that already contain its value."""
        super().save_model(request, obj, form, change)
        saved = secrets.after_saving(obj)
        if saved.found:
            entries = ", ".join(f"{entry.session} entry {entry.seq}" for entry in saved.found[:MAX_NAMED_ENTRIES])
            messages.warning(request, f"{saved.sentence} The most recent: {entries}.")


@admin.register(MemoryNote)
class MemoryNoteAdmin(ReadOnlyAdmin):
    """Memory notes, read-only except for deletion. They are written on the page Memory."""

    list_display = ["__str__", "belongs_to", "auto", "changed_at"]
    list_filter = ["auto", ("owner", admin.EmptyFieldListFilter)]
    list_select_related = ["owner", "project"]
    search_fields = ["text", "owner__username"]
    date_hierarchy = "created_at"

    @display(description="belongs to", ordering="owner__username")
    def belongs_to(self, note: MemoryNote) -> str:
        return str(note.owner or note.project or "the whole team")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(ModelAdmin.has_delete_permission(self, request, obj))


@admin.register(Limits)
class LimitsAdmin(ModelAdmin):
    """The only row of limits. Its list redirects to its form."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and not Limits.objects.exists()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if Limits.objects.exists():
            return redirect("admin:tasks_app_limits_change", 1)
        return redirect("admin:tasks_app_limits_add")

    def save_model(self, request: HttpRequest, obj: Limits, form: Any, change: bool) -> None:
        obj.pk = 1
        super().save_model(request, obj, form, change)


@admin.register(EngineProcess)
class EngineProcessAdmin(ReadOnlyAdmin):
    list_display = ["name", "alive", "started_at", "seen_at"]
    ordering = ["-seen_at"]

    @display(description="alive", boolean=True)
    def alive(self, process: EngineProcess) -> bool:
        return timezone.now() - process.seen_at < timedelta(seconds=ALIVE_SECONDS)
