"""The admin's own door, and what the site remembers of its configuration."""

from typing import Any

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from agentsite.models import AppliedValue

# One login for the whole site, with its limit on attempts.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]


@admin.register(AppliedValue)
class AppliedValueAdmin(ModelAdmin):
    """When a configuration file was applied last; a value that is deleted here is applied again."""

    list_display = ["name", "applied_at"]
    search_fields = ["name"]
    fields = ["name", "applied_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
