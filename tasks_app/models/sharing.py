"""Members of sessions and projects: people and roles."""

import uuid
from collections.abc import Collection
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from llm_app.sql import cached_sql, fetch_all


class MemberQuerySet(models.QuerySet[Any]):
    def of_user(self, user: Any) -> "MemberQuerySet":
        """Filter memberships of the user or of one of their roles."""
        return self.filter(Q(user=user) | Q(role__in=get_user_model().roles_of(user.pk)))

    def rights(self, shared: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[int, bool]]:
        """Return, by shared object and by person, whether the person has write access. Roles are expanded to their
        members.
        """
        rights: dict[uuid.UUID, dict[int, bool]] = {}
        for pk, user, role, may_write in self._of_shared(shared):
            people = rights.setdefault(pk, {})
            for person in [user] if user else get_user_model().members_of(role).values_list("pk", flat=True):
                people[person] = people.get(person, False) or may_write
        return rights

    @cached_sql
    def _of_shared(self, shared: Collection[uuid.UUID]) -> list[tuple[Any, ...]]:
        """Return the shared object's key, user, role and write access of each member."""
        name = self.model.SHARED
        return fetch_all(self.filter(**{f"{name}__pk__in": shared}).values_list(name, "user", "role", "may_write"))


class Member(models.Model):
    """A member of the shared object in the field `SHARED`: a person, or everyone with a role."""

    SHARED: ClassVar[str]

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+")
    role = models.ForeignKey(Group, models.CASCADE, null=True, blank=True, related_name="+")
    may_write = models.BooleanField(default=False)

    objects: ClassVar[Any] = MemberQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.user or self.role} in {getattr(self, self.SHARED)}"


class SessionMember(Member):
    SHARED = "session"

    session = models.ForeignKey("tasks_app.Session", models.CASCADE, related_name="memberships")

    class Meta:
        db_table = "session_members"
        constraints = [
            models.UniqueConstraint(fields=["session", "user"], name="member_once_per_session"),
            models.UniqueConstraint(fields=["session", "role"], name="role_once_per_session"),
            models.CheckConstraint(
                condition=Q(user__isnull=True) ^ Q(role__isnull=True), name="member_is_a_person_or_a_role"
            ),
        ]
