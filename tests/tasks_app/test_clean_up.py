"""Periodic deletion of expired rows."""

from datetime import timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone

from tasks_app.models import IdempotencyKey
from tasks_app.worker import jobs


def test_expired_rows_are_deleted(transactional_db: None, alice: Any) -> None:
    for key in ("old", "new"):
        IdempotencyKey.objects.create(user=alice, key=key, request_sha256="")
        Session.objects.create(session_key=key, expire_date=timezone.now() + timedelta(days=1))
    long_ago = timezone.now() - timedelta(hours=25)
    IdempotencyKey.objects.filter(key="old").update(created_at=long_ago)
    Session.objects.filter(pk="old").update(expire_date=long_ago)
    jobs.clean_up()
    assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["new"]
    assert list(Session.objects.values_list("pk", flat=True)) == ["new"]


def test_scheduled_tasks_are_registered() -> None:
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(current_app.tasks)
