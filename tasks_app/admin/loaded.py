from django.contrib import admin

from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.models import Loaded


@admin.register(Loaded)
class LoadedAdmin(ReadOnlyAdmin):
    list_display = ["name", "kind", "session", "created_at"]
    list_filter = ["kind"]
    list_select_related = ["session"]
    search_fields = ["name"]
