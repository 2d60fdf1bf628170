"""Keys of requests and forms: what comes again with its key, because the answer was lost, is done once."""

import hashlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

KEPT = timedelta(hours=24)


class IdempotencyKeyQuerySet(models.QuerySet["IdempotencyKey"]):
    def expired(self) -> "IdempotencyKeyQuerySet":
        return self.filter(created_at__lt=timezone.now() - KEPT)

    def get_or_keep(self, user: Any, key: str, request: str, answer: Any = None) -> "tuple[IdempotencyKey, bool]":
        """Keeps the key of a form and what it sends, in the transaction of the work, with an answer.

        Returns the row of whoever sent both first, and whether that is now.
        """
        fingerprint = _fingerprint(request)
        kept = {"request_sha256": fingerprint, "answer": answer}
        return self.get_or_create(user=user, key=f"{key} {fingerprint}", defaults=kept)

    def has(self, user: Any, key: str, request: str) -> bool:
        """Whether the key of a form is kept, and what it sends."""
        return self.filter(user=user, key=f"{key} {_fingerprint(request)}").exists()

    def kept(self) -> "IdempotencyKeyQuerySet":
        return self.filter(created_at__gte=timezone.now() - KEPT)


def _fingerprint(request: str) -> str:
    return hashlib.sha256(request.encode()).hexdigest()


class IdempotencyKey(models.Model):
    """`status` is null while the first request is still at work."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64, help_text="SHA-256 of method, path and body.")
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = IdempotencyKeyQuerySet.as_manager()

    class Meta:
        db_table = "idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]

    def __str__(self) -> str:
        return self.key
