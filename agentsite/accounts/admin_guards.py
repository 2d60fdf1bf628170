"""What the admin of people and roles refuses.

Superusers alone give rights: who may change people could else make themselves one of them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from unfold.forms import UserChangeForm

from agentsite.accounts.models import User
from tasks_app.models import InboxMessage, Session, Task


class GuardsRights:
    """For the admin of people and of roles: `rights` are shown, and only superusers change them."""

    rights: Sequence[str] = ()

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = list(super().get_readonly_fields(request, obj))  # type: ignore[misc]
        return fields if request.user.is_superuser else [*fields, *self.rights]


class GuardsStaff(GuardsRights):
    """For the admin of people: a password or an address of staff, once changed, is a way to their rights."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may_change: bool = super().has_change_permission(request, obj)  # type: ignore[misc]
        return may_change and _may_touch(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        may_delete: bool = super().has_delete_permission(request, obj)  # type: ignore[misc]
        return may_delete and _may_touch(request, obj)


_HAS_SAID = "has sessions, or has written in those of others: instead, take away “active”, which ends what they can do"
_IS_LAST = "would leave nobody who administers this server"


class GuardsRecord:
    """For the admin of people: what somebody has said stays, and so do they; and so does the last administrator."""

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
    """Refuses to take the rights from the last administrator: nobody could give them back."""

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        loses = values.get("is_active") is False or values.get("is_superuser") is False
        if loses and are_last_administrators([self.instance]):
            raise ValidationError(f"This {_IS_LAST}. Make somebody else a superuser first.")
        return values


def are_last_administrators(people: Iterable[Any]) -> bool:
    """Whether no administrator is left without these."""
    administrators, keys = User.administrators(), {person.pk for person in people}
    return administrators.filter(pk__in=keys).exists() and not administrators.exclude(pk__in=keys).exists()


def _has_said_something(person: Any) -> bool:
    own = Session.objects.filter(owner=person), Task.objects.filter(started_by=person)
    return any(rows.exists() for rows in (*own, InboxMessage.objects.filter(author=person)))


def _may_touch(request: HttpRequest, user: Any) -> bool:
    if user is None or request.user.is_superuser:
        return True
    return not (user.is_staff or user.is_superuser)
