"""Messages that wait while a task runs, and idempotency keys."""

import hashlib
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Max, Q
from django.utils import timezone

from llm_app.sql import cached_sql, fetch_all
from tasks_app.models.session import Session
from tasks_app.models.workflow import Workflow


class Mode(models.TextChoices):
    """The effect of a message on the running task: interrupt its step, be read before the next step, or wait for its
    end.
    """

    INTERJECT = "interject"
    STEER = "steer"
    QUEUE = "queue"


class InboxQuerySet(models.QuerySet["InboxMessage"]):
    def waiting_in(self, session: Session) -> "InboxQuerySet":
        return self.filter(session=session, delivered_seq=None).order_by("pk")

    @cached_sql
    def startable_in(self, session: Any) -> "list[InboxMessage]":
        """Return the waiting messages of open accounts, with their authors."""
        return fetch_all(self.waiting_in(session).filter(author__is_active=True).select_related("author"))

    def for_running_task(self, session: Session) -> "InboxQuerySet":
        """Filter the messages that the next step reads."""
        return self.waiting_in(session).exclude(mode=Mode.QUEUE)

    def changeable_by(self, user: Any, session: Session) -> "InboxQuerySet":
        """Filter the user's own waiting messages, except interjections, which are about to be read."""
        return self.waiting_in(session).filter(author=user).exclude(mode=Mode.INTERJECT)

    def stop_time(self, session: Session) -> datetime:
        """Return the current time, or that of the newest waiting message if the clock of its host is ahead."""
        newest = self.waiting_in(session).aggregate(newest=Max("created_at"))["newest"]
        return max(timezone.now(), newest or timezone.now())


class InboxMessage(models.Model):
    session = models.ForeignKey(Session, models.CASCADE, related_name="inbox")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    mode = models.CharField(max_length=9, choices=Mode)
    content = models.TextField()
    attachments = models.JSONField(default=list, blank=True)
    images = models.JSONField(default=list, blank=True, help_text="The attached images, as they are named in entries.")
    output_schema = models.TextField(blank=True, help_text="For the task that the message starts.")
    workflow = models.ForeignKey(
        Workflow, models.SET_NULL, null=True, blank=True, related_name="+", help_text="For the task that it starts."
    )
    delivered_seq = models.PositiveIntegerField(null=True, blank=True, help_text="The entry that it was appended as.")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = InboxQuerySet.as_manager()

    class Meta:
        db_table = "inbox_messages"
        ordering = ["pk"]
        indexes = [models.Index(fields=["session"], condition=Q(delivered_seq=None), name="waiting_messages")]
        constraints = [models.CheckConstraint(condition=Q(mode__in=Mode.values), name="inbox_mode_known")]

    def __str__(self) -> str:
        return f"{self.mode} message in {self.session}"

    def move_after(self, stopped_at: datetime | None) -> None:
        """Set `created_at` later than a stop that came first, even if the clock of this host is behind."""
        if stopped_at is not None and self.created_at <= stopped_at:
            created_at = stopped_at + timedelta(microseconds=1)
            InboxMessage.objects.filter(pk=self.pk).update(created_at=created_at)


KEY_LIFETIME = timedelta(hours=24)


class IdempotencyKeyQuerySet(models.QuerySet["IdempotencyKey"]):
    def expired(self) -> "IdempotencyKeyQuerySet":
        return self.filter(created_at__lt=timezone.now() - KEY_LIFETIME)

    def get_or_store(self, user: Any, key: str, request: str, answer: Any = None) -> "tuple[IdempotencyKey, bool]":
        """Return the row of a form key and request, and whether this call created it, as `get_or_create`.

        A new row saves `answer`, in the transaction of the work itself.
        """
        fingerprint = _fingerprint(request)
        defaults = {"request_sha256": fingerprint, "answer": answer}
        return self.get_or_create(user=user, key=f"{key} {fingerprint}", defaults=defaults)

    def has(self, user: Any, key: str, request: str) -> bool:
        """Return whether the same form has been sent with the same content."""
        return self.filter(user=user, key=f"{key} {_fingerprint(request)}").exists()

    def unexpired(self) -> "IdempotencyKeyQuerySet":
        return self.filter(created_at__gte=timezone.now() - KEY_LIFETIME)


def _fingerprint(request: str) -> str:
    return hashlib.sha256(request.encode()).hexdigest()


class IdempotencyKey(models.Model):
    """A key of a request that is done only once. `status` is null while the first request is in progress."""

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
