from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from unfold.decorators import display

from llm_app.admin.write_only import WriteOnlyAdmin, WriteOnlyForm
from llm_app.models import Secret
from tasks_app import secret_keeping

_SHOWN = 10  # places that the message names


class SecretForm(WriteOnlyForm):
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if value := cleaned.get("value"):
            refused = secret_keeping.why_not_kept(cleaned.get("owner"), cleaned.get("name", ""), value)
            if refused and refused.field in self.fields:
                self.add_error(refused.field, str(refused))
        return cleaned


@admin.register(Secret)
class SecretAdmin(WriteOnlyAdmin):
    form = SecretForm
    list_display = ["name", "belongs_to", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["name", "owner__username"]
    autocomplete_fields = ["owner"]
    fields = ["name", "owner", "value"]

    @display(description="belongs to", ordering="owner__username")
    def belongs_to(self, secret: Secret) -> str:
        return str(secret.owner or "the whole team")

    def save_model(self, request: HttpRequest, obj: Secret, form: Any, change: bool) -> None:
        """A new value, or another owner's record: it is said where the value stands already."""
        super().save_model(request, obj, form, change)
        kept = secret_keeping.taken(obj)
        if kept.found:
            where = ", ".join(f"{place.session} entry {place.seq}" for place in kept.found[:_SHOWN])
            messages.warning(request, f"{kept.sentence} The newest places: {where}.")
