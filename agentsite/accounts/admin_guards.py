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


class GuardsRights:
    """A mixin that makes the fields in `rights` read-only, except for superusers."""

    rights: Sequence[str] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))  # type: ignore[misc]
        return fields if request.user.is_superuser else [*fields, *self.rights]


class GuardsStaff(GuardsRights):
    """A mixin that lets only superusers change staff: a new password or address would give access to their rights."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may_change: bool = super().has_change_permission(request, obj)  # type: ignore[misc]
        return may_change and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may_delete: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return may_delete and _may_touch(request, obj)


_HAS_SAID = "has sessions, or has written in those of others: instead, take away “active”, which ends what they can do"
_IS_LAST = "would leave nobody who administers this server"


class GuardsRecord:
    """A mixin that prevents the deletion of users with messages or tasks, and of the last administrator."""

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, ...]:
        people = list(objs)
        kept = [f"{person} {_HAS_SAID}" for person in people if _has_said_something(person)]
        if are_last_administrators(people):
            kept.append(f"That {_IS_LAST}")
        if not kept:
            listed: tuple[Any, ...] = super().get_deleted_objects(people, request)  # type: ignore[misc]
            return listed
        return [str(person) for person in people], {}, set(), kept


class MemberForm(UserChangeForm):
    """A form that does not take the rights from the last administrator: nobody could restore them."""

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        loses = values.get("is_active") is False or values.get("is_superuser") is False
        if loses and are_last_administrators([self.instance]):
            raise ValidationError(f"This {_IS_LAST}. Make somebody else a superuser first.")
        return values


def are_last_administrators(people: Iterable[Any]) -> bool:
    """Return whether no administrator remains without these people."""
    administrators, keys = User.administrators(), {person.pk for person in people}
    return administrators.filter(pk__in=keys).exists() and not administrators.exclude(pk__in=keys).exists()


def _has_said_something(person: Any) -> bool:
    own = Session.objects.filter(owner=person), Task.objects.filter(started_by=person)
    return any(rows.exists() for rows in (*own, InboxMessage.objects.filter(author=person)))


def _may_touch(request: HttpRequest, user: Any) -> bool:
    if user is None or request.user.is_superuser:
        return True
    return not (user.is_staff or user.is_superuser)
