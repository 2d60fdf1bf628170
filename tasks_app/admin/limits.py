from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin

from tasks_app.models import Limits


@admin.register(Limits)
class LimitsAdmin(ModelAdmin):
    """One row, so there is no list."""

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
