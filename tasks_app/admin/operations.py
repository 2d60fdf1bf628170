from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.decorators import display

from llm_app.admin.write_only import WriteOnlyAdmin, WriteOnlyForm
from llm_app.models import Secret
from tasks_app.secrets import keep

_SHOWN = 10  # places that the message names


class SecretForm(WriteOnlyForm):
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if value := cleaned.get("value"):
            refused = keep.why_not_kept(cleaned.get("owner"), cleaned.get("name", ""), value)
            if refused and refused.field in self.fields:
                self.add_error(refused.field, str(refused))
        if cleaned.get("owner") and cleaned.get("roles"):
            self.add_error("roles", "Roles are for a secret of the team: only its owner's tasks use this one.")
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
        """A new value, or another owner's record: it is said where the value stands already."""
        super().save_model(request, obj, form, change)
        kept = keep.taken(obj)
        if kept.found:
            where = ", ".join(f"{place.session} entry {place.seq}" for place in kept.found[:_SHOWN])
            messages.warning(request, f"{kept.sentence} The newest places: {where}.")
