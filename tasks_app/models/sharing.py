"""Members of sessions and projects (people and roles), and links for people without an account."""

import hashlib
import secrets
import uuid
from collections.abc import Collection
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone

from llm_app.sql import cached_sql, fetch_all

if TYPE_CHECKING:
    from tasks_app.models.session import Session


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


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def create_link(self, session: "Session", days: int) -> str:
        """Create a link and return its token, which cannot be read again."""
        token = secrets.token_urlsafe(32)
        expires_at = timezone.now() + timedelta(days=days)
        self.create(session=session, token_sha256=_sha256(token), expires_at=expires_at)
        return token

    def valid_with_token(self, token: str) -> "ShareLink | None":
        """Return the valid link with this token. Links of closed accounts are not valid."""
        valid = self.filter(token_sha256=_sha256(token), expires_at__gt=timezone.now(), session__owner__is_active=True)
        return valid.select_related("session__owner").first()


class ShareLink(models.Model):
    """A link with which anyone can read a session without an account, until the link expires or is revoked."""

    session = models.ForeignKey("tasks_app.Session", models.CASCADE, related_name="links")
    token_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    objects = ShareLinkQuerySet.as_manager()

    class Meta:
        db_table = "share_links"
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"a link to {self.session}"


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
