"""Users and their API tokens."""

import zoneinfo
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser, Group
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Exists, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone
from knox.crypto import hash_token
from knox.models import AbstractAuthToken, AuthTokenManager
from knox.settings import CONSTANTS

_ROLES = """
    SELECT group_id FROM accounts_user_groups WHERE user_id = %s
    UNION ALL SELECT role_id FROM role_policies
    WHERE is_default AND NOT EXISTS (SELECT 1 FROM accounts_user_groups WHERE user_id = %s)
"""


def _known_language(code: str) -> None:
    if code not in dict(settings.LANGUAGES):
        raise ValidationError(f"There is no translation into {code}.")


def _known_zone(name: str) -> None:
    if name not in zoneinfo.available_timezones():
        raise ValidationError(f"There is no time zone {name}.")


class User(AbstractUser):  # type: ignore[django-manager-missing]  # knox has no types
    """A member of the team. Their preferences are part of the prompt of every task that they start."""

    preferences = models.TextField(
        blank=True,
        help_text="What the agent should know about this person: language, tone, format and other preferences.",
    )
    time_zone: "models.CharField[str, str]" = models.CharField(
        max_length=64,
        blank=True,
        validators=[_known_zone],
        help_text="For example Europe/Berlin. If empty, pages use the browser's time zone and the agent uses UTC.",
    )
    language: "models.CharField[str, str]" = models.CharField(
        max_length=8,
        blank=True,
        validators=[_known_language],
        help_text="Language of pages and mails, for example de. If empty, pages use the browser's, and mails English.",
    )
    mails: "models.JSONField[Any, Any]" = models.JSONField(
        default=list, blank=True, help_text="The states of tasks that are reported by mail: waiting, done, failed."
    )

    @classmethod
    def administrators(cls) -> "models.QuerySet[User]":
        """Return the superusers who can sign in."""
        return cls.objects.filter(is_active=True, is_superuser=True)

    def now(self) -> datetime:
        """Return the current time in the user's time zone, or in UTC."""
        return timezone.now().astimezone(zoneinfo.ZoneInfo(self.time_zone or "UTC"))

    @classmethod
    def roles_of(cls, user_id: int | None) -> QuerySet[Group]:
        """Return the roles whose rights and limits apply to a user: their own or, without any, the default role.

        Raw SQL, because seven queries at the start of each task contain it: Django took a millisecond to build each.
        """
        if user_id is None:
            return Group.objects.none()
        return Group.objects.filter(pk__in=RawSQL(_ROLES, (user_id, user_id)))  # noqa: S611  constant, with parameters

    @classmethod
    def members_of(cls, role_id: int) -> "QuerySet[User]":
        """Return the users whose `roles_of` contain this role."""
        is_default = Q(Exists(cls.default_role().filter(pk=role_id)))
        return cls.objects.filter(Q(groups=role_id) | Q(groups=None) & is_default)

    @staticmethod
    def default_role() -> QuerySet[Group]:
        """Return the role of users without one; empty unless an administrator has set it."""
        return Group.objects.filter(tool_policy__is_default=True)


class ApiTokenManager(AuthTokenManager):
    def set_value(self, user: User, value: str, name: str) -> "ApiToken":
        """Store the digest of a token that was chosen elsewhere (environment, configuration file).

        It replaces the user's earlier token of that name.
        """
        digest = hash_token(value)
        self.filter(user=user, name=name).exclude(digest=digest).delete()
        token: ApiToken
        token, _ = self.update_or_create(
            digest=digest,
            defaults={"user": user, "name": name, "token_key": digest[: CONSTANTS.TOKEN_KEY_LENGTH], "expiry": None},
        )
        return token


class ApiToken(AbstractAuthToken):
    """A bearer token for the REST API, stored as a digest. A token for an agent should not approve calls."""

    name: "models.CharField[str, str]" = models.CharField(max_length=100, blank=True)
    may_approve: "models.BooleanField[bool, bool]" = models.BooleanField(
        default=True, help_text="Whether programs with this token can approve or reject calls."
    )

    objects = ApiTokenManager()

    class Meta:
        swappable = "KNOX_TOKEN_MODEL"
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name or "API token"
