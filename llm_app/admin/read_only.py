"""What administrators look at and do not touch."""

from typing import Any

from django.http import HttpRequest


class Untouched:
    """For an admin or an inline: nobody adds, changes or deletes a row."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
