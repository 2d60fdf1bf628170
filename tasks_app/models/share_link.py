"""Links to what was said in a session, for readers without an account."""

import hashlib
import secrets
from datetime import timedelta

from django.db import models
from django.utils import timezone

from tasks_app.models.session import Session


class ShareLinkQuerySet(models.QuerySet["ShareLink"]):
    def make(self, session: Session, days: int) -> str:
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

    session = models.ForeignKey(Session, models.CASCADE, related_name="links")
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
