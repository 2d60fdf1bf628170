"""The processes that advance tasks, and when each of them last showed life."""

from datetime import timedelta

from django.db import models
from django.db.models.expressions import Combinable
from django.db.models.functions import Now

ALIVE_SECONDS = 20  # how long a process may be silent: four heartbeats


class EngineProcessQuerySet(models.QuerySet["EngineProcess"]):
    def alive(self) -> "EngineProcessQuerySet":
        """By the database's clock."""
        return self.filter(seen_at__gt=_ago(timedelta(seconds=ALIVE_SECONDS)))

    def beat(self, name: str) -> None:
        """The process called `name` is alive. A first beat also forgets processes of other days."""
        if not self.filter(pk=name).update(seen_at=Now()):
            self.filter(seen_at__lt=_ago(timedelta(days=1))).delete()
            self.create(name=name, seen_at=Now())


class EngineProcess(models.Model):
    """`name` is that of its leases: host and lock file."""

    name = models.CharField(max_length=100, primary_key=True)
    started_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()

    objects = EngineProcessQuerySet.as_manager()

    class Meta:
        db_table = "engine_processes"
        ordering = ["-seen_at"]
        verbose_name_plural = "engine processes"

    def __str__(self) -> str:
        return self.name


def _ago(time: timedelta) -> Combinable:
    return models.ExpressionWrapper(Now() - time, output_field=models.DateTimeField())
