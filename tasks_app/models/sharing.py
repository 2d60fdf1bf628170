"""With whom a session or a project is shared: people, roles, and whoever has a link to a session."""

import hashlib
import secrets
import uuid
from collections.abc import Collection
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone

from llm_app.composed_query import Select

if TYPE_CHECKING:
    from tasks_app.models.session import Session


class MemberQuerySet(models.QuerySet[Any]):
    def of_user(self, user: Any) -> "MemberQuerySet":
        """Shared with them, or with a role that they have."""
        return self.filter(Q(user=user) | Q(role__in=get_user_model().roles_of(user.pk)))

    def rights(self, shared: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[int, bool]]:
        """For each of these with members, whether each person, also one of a role, may write in it."""
        found: dict[uuid.UUID, dict[int, bool]] = {}
        model: type[Member] = self.model
        for pk, user, role, may_write in _members_of(model).of_keys(shared):
            people = found.setdefault(pk, {})
            for person in [user] if user else get_user_model().members_of(role).values_list("pk", flat=True):
                people[person] = people.get(person, False) or may_write
        return found


@cache
def _members_of(model: type["Member"]) -> Select[Any]:
    columns = (model.SHARED, "user", "role", "may_write")
    return Select(lambda *of: model.objects.filter(**{f"{model.SHARED}__pk__in": of}).values_list(*columns))


class Member(models.Model):
    """Somebody with whom something is shared, the field `SHARED`: a person, or all who have a role."""

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
    def make(self, session: "Session", days: int) -> str:
        """The token of a new link, which is known now and never again."""
        token = secrets.token_urlsafe(32)
        until = timezone.now() + timedelta(days=days)
        self.create(session=session, token_sha256=_sha256(token), expires_at=until)
        return token

    def opened_by(self, token: str) -> "ShareLink | None":
        """None also where the owner's account is closed."""
        valid = self.filter(token_sha256=_sha256(token), expires_at__gt=timezone.now(), session__owner__is_active=True)
        return valid.select_related("session__owner").first()


class ShareLink(models.Model):
    """Whoever has its token reads what was said in a session, without an account, until it expires or is revoked."""

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
