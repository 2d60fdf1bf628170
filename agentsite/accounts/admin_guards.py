"""What the admin of people and roles refuses.

Superusers alone give rights: who may change people could else make themselves one of them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest

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


class GuardsRecord:
    """For the admin of people: what somebody has said stays, and so do they."""

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, ...]:
        people = list(objs)
        kept = [person for person in people if _has_said_something(person)]
        if not kept:
            listed: tuple[Any, ...] = super().get_deleted_objects(people, request)  # type: ignore[misc]
            return listed
        why = (
            "has sessions, or has written in those of others: instead, take away “active”, which ends what they can do"
        )
        return [str(person) for person in people], {}, set(), [f"{person} {why}" for person in kept]


def _has_said_something(person: Any) -> bool:
    own = Session.objects.filter(owner=person), Task.objects.filter(started_by=person)
    return any(rows.exists() for rows in (*own, InboxMessage.objects.filter(author=person)))


def _may_touch(request: HttpRequest, user: Any) -> bool:
    if user is None or request.user.is_superuser:
        return True
    return not (user.is_staff or user.is_superuser)
