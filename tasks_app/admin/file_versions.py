from django.contrib import admin

from tasks_app.admin.base import ReadOnlyAdmin
from tasks_app.models import FileVersion


@admin.register(FileVersion)
class FileVersionAdmin(ReadOnlyAdmin):
    list_display = ["path", "session", "size", "created_at"]
    list_select_related = ["session"]
    search_fields = ["path"]
    date_hierarchy = "created_at"
