"""The record of applied configuration values."""

import hashlib
import hmac

from django.conf import settings
from django.db import models


class AppliedValueManager(models.Manager["AppliedValue"]):
    def is_new(self, name: str, value: str) -> bool:
        """Return whether `value` differs from the value that was last applied under `name`."""
        digest = self.filter(name=name).values_list("digest", flat=True).first() or ""
        return not any(hmac.compare_digest(digest, _digest(value, key)) for key in _keys())

    def remember(self, name: str, value: str) -> None:
        self.update_or_create(name=name, defaults={"digest": _digest(value, _keys()[0])})


class AppliedValue(models.Model):
    """The keyed digest of a value that a configuration file set last. It reveals a change, but not the value."""

    name = models.CharField(max_length=1000, unique=True)
    digest = models.CharField(max_length=64)
    applied_at = models.DateTimeField(auto_now=True)

    objects = AppliedValueManager()

    class Meta:
        db_table = "applied_values"

    def __str__(self) -> str:
        return self.name


def _keys() -> list[str]:
    """Return the keys, newest first. An older key still recognises values that were applied with it."""
    return [key.strip() for key in settings.FIELD_ENCRYPTION_KEY.split(",")]


def _digest(value: str, key: str) -> str:
    derived = hashlib.sha256(b"agentsite applied values\0" + key.encode()).digest()
    return hmac.digest(derived, value.encode(), "sha256").hex()
