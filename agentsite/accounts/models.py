"""People and the tokens of their programs."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from knox.crypto import hash_token
from knox.models import AbstractAuthToken, AuthTokenManager
from knox.settings import CONSTANTS


class User(AbstractUser):  # type: ignore[django-manager-missing]  # knox has no types
    """A member of the team. What they prefer goes into the prompt of every task they start."""

    preferences = models.TextField(
        blank=True,
        help_text="What the agent should know about this person: language, tone, format and other preferences.",
    )


class ApiTokenManager(AuthTokenManager):
    def set_value(self, user: User, value: str, name: str) -> "ApiToken":
        """Stores the digest of a token that was chosen outside (environment, configuration file)."""
        digest = hash_token(value)
        token: ApiToken
        token, _ = self.update_or_create(
            digest=digest,
            defaults={"user": user, "name": name, "token_key": digest[: CONSTANTS.TOKEN_KEY_LENGTH], "expiry": None},
        )
        return token


class ApiToken(AbstractAuthToken):
    """A bearer token for the REST interface; only its digest is stored. What an agent may hold shall not approve."""

    name: "models.CharField[str, str]" = models.CharField(max_length=100, blank=True)
    may_approve: "models.BooleanField[bool, bool]" = models.BooleanField(
        default=True, help_text="Whether it may approve or reject calls."
    )

    objects = ApiTokenManager()

    class Meta:
        swappable = "KNOX_TOKEN_MODEL"
        verbose_name = "API token"

    def __str__(self) -> str:
        return self.name or "API token"
