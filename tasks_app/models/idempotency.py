"""Answers kept for 24 hours, so that a request that is sent twice starts nothing twice."""

from django.conf import settings
from django.db import models


class IdempotencyKey(models.Model):
    """`status` is null while the first request is still at work."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request_sha256 = models.CharField(max_length=64, help_text="Of method, path and body.")
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "idempotency_keys"
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")]

    def __str__(self) -> str:
        return self.key
