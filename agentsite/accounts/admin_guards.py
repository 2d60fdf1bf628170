"""Guards in the admin of users and roles.

Only superusers grant rights. Otherwise, users who can change users could make themselves superusers.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.forms import UserChangeForm

from agentsite.accounts.models import User
from tasks_app.models import InboxMessage, Session, Task


class ProtectedRightsMixin:
    """A mixin that makes the fields in `rights` read-only, except for superusers."""

    rights: Sequence[str] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))  # type: ignore[misc]
        return fields if request.user.is_superuser else [*fields, *self.rights]


class ProtectedStaffMixin(ProtectedRightsMixin):
    """A mixin that lets only superusers change staff: a new password or address would give access to their rights."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        can_change: bool = super().has_change_permission(request, obj)  # type: ignore[misc]
        return can_change and _can_change(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        can_delete: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return can_delete and _can_change(request, obj)


_HAS_CONTENT = (
    "has sessions, or has written in those of others: instead, take away “active”, which ends what they can do"
)
_IS_LAST_ADMINISTRATOR = "would leave nobody who administers this server"


class ProtectedRecordMixin:
    """A mixin that prevents the deletion of users with messages or tasks, and of the last administrator."""

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, ...]:
        users = list(objs)
        obstacles = [f"{user} {_HAS_CONTENT}" for user in users if _has_content(user)]
        if are_last_administrators(users):
            obstacles.append(f"That {_IS_LAST_ADMINISTRATOR}")
        if not obstacles:
            deleted: tuple[Any, ...] = super().get_deleted_objects(users, request)  # type: ignore[misc]
            return deleted
        return [str(user) for user in users], {}, set(), obstacles


class MemberForm(UserChangeForm):
    """A form that does not take the rights from the last administrator: nobody could restore them."""

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        loses = values.get("is_active") is False or values.get("is_superuser") is False
        if loses and are_last_administrators([self.instance]):
            raise ValidationError(f"This {_IS_LAST_ADMINISTRATOR}. Make somebody else a superuser first.")
        return values


def are_last_administrators(users: Iterable[Any]) -> bool:
    """Return whether no administrator remains without these users."""
    administrators, keys = User.administrators(), {user.pk for user in users}
    return administrators.filter(pk__in=keys).exists() and not administrators.exclude(pk__in=keys).exists()


def _has_content(user: Any) -> bool:
    sessions = Session.objects.filter(owner=user)
    tasks = Task.objects.filter(started_by=user)
    messages = InboxMessage.objects.filter(author=user)
    return sessions.exists() or tasks.exists() or messages.exists()


def _can_change(request: HttpRequest, user: Any) -> bool:
    if user is None or request.user.is_superuser:
        return True
    return not (user.is_staff or user.is_superuser)
