"""Secrets: stored once, never displayed again, and redacted everywhere."""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Exists, OuterRef, Q

from llm_app.encryption import EncryptedTextField


class SecretQuerySet(models.QuerySet["Secret"]):
    def usable_by_all(self, people: Collection[int]) -> "SecretQuerySet":
        """Return the secrets that all of these users can use: the team's by role, and a user's own only if there is one
        user.
        """
        users, roles = get_user_model(), Secret.roles.through.objects.filter(secret=OuterRef(OuterRef("pk")))
        by_default = Q(groups=None) & Exists(roles.filter(group__in=users.default_role()))
        granted = Q(Exists(roles.filter(group__user=OuterRef("pk")))) | by_default
        users_without_grant = users.objects.filter(~granted, pk__in=people, is_superuser=False)
        own_secrets = Q(owner__in=people) if len(people) == 1 else Q(pk__in=())
        return self.filter(own_secrets | Q(owner=None) & ~Exists(users_without_grant))


class Secret(models.Model):
    """A value that tools can use but models must not see. Without an owner it belongs to the team."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="secrets")
    name = models.CharField(max_length=64)
    value = EncryptedTextField()
    roles: "models.ManyToManyField[Any, Any]" = models.ManyToManyField(
        Group,
        blank=True,
        related_name="+",
        help_text="Whose members' tasks may use a secret of the team. None: only administrators' tasks.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SecretQuerySet.as_manager()

    class Meta:
        db_table = "secrets"
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="secret_name_once_per_owner"),
            models.UniqueConstraint(fields=["name"], condition=Q(owner=None), name="secret_name_once_per_team"),
        ]

    def __str__(self) -> str:
        return self.name


class ServiceKey(models.Model):
    """A key of the server for a service that is not a model provider.

    It is redacted everywhere, and tasks cannot use it.
    """

    name = models.CharField(max_length=150, unique=True, help_text="For example search.tavily.")
    value = EncryptedTextField()

    class Meta:
        db_table = "service_keys"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def store(cls, name: str, value: str) -> bool:
        """Store a key, and return whether it changed."""
        row = cls.objects.filter(name=name).first() or cls(name=name)
        if row.value == value:
            return False
        row.value = value
        row.save()
        return True
