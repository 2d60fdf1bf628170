from django.contrib import admin
from unfold.decorators import display

from llm_app.admin.write_only import WriteOnlyAdmin
from llm_app.models import Secret


@admin.register(Secret)
class SecretAdmin(WriteOnlyAdmin):
    list_display = ["name", "belongs_to", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["name", "owner__username"]
    autocomplete_fields = ["owner"]
    fields = ["name", "owner", "value"]

    @display(description="belongs to", ordering="owner__username")
    def belongs_to(self, secret: Secret) -> str:
        return str(secret.owner or "the whole team")
