"""What a session has loaded: it stays loaded, over tasks and restarts."""

from django.db import models
from django.db.models import Q

from tasks_app.models.session import Session


class LoadedKind(models.TextChoices):
    GROUP = "group", "Group of tools"
    SKILL = "skill", "Skill"


class Loaded(models.Model):
    session = models.ForeignKey(Session, models.CASCADE, related_name="loaded")
    kind = models.CharField(max_length=5, choices=LoadedKind)
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "loaded"
        verbose_name_plural = "loaded"
        constraints = [
            models.UniqueConstraint(fields=["session", "kind", "name"], name="loaded_once"),
            models.CheckConstraint(condition=Q(kind__in=LoadedKind.values), name="loaded_kind_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
