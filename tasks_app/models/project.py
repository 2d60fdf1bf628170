"""A project: sessions that share instructions, members, a default agent, memory and a library."""

import uuid
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from llm_app.sql import cached_sql, fetch_first
from tasks_app.models.agent import Agent
from tasks_app.models.sharing import Member


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: Any) -> "ProjectQuerySet":
        """Filter the user's own projects and those they are a member of. Every query for a user's projects starts
        here.
        """
        return self._of(user, ProjectMember.objects.of_user(user))

    def writable_by(self, user: Any) -> "ProjectQuerySet":
        """Filter projects in which the user may start sessions and change instructions and library."""
        return self._of(user, ProjectMember.objects.of_user(user).filter(may_write=True))

    @cached_sql
    def find_visible(self, user: Any, pk: Any) -> "Project | None":
        return fetch_first(self.visible_to(user).filter(pk=pk))

    def _of(self, user: Any, members: models.QuerySet[Any]) -> "ProjectQuerySet":
        return self.filter(Q(owner=user) | Q(pk__in=members.values("project")))

    def rights(self, projects: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[int, bool]]:
        """Return, by project and by person, whether the person has write access."""
        members = ProjectMember.objects.rights(projects)
        owners = self.filter(pk__in=projects).values_list("pk", "owner") if projects else ()
        return {pk: members.get(pk, {}) | {owner: True} for pk, owner in owners}


class Project(models.Model):
    """A project. `version` increases with each change that running tasks must notice."""

    MAX_INSTRUCTIONS = 8000  # characters of instructions
    MAX_PER_OWNER = 200  # projects per owner

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="owned_projects")
    name = models.CharField(max_length=100)
    instructions = models.TextField(
        blank=True, max_length=MAX_INSTRUCTIONS, help_text="What the agent is told in each session."
    )
    agent = models.ForeignKey(
        Agent,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The agent of new sessions that name no other. Empty: the default agent.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        db_table = "projects"
        ordering = ["name", "created_at"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return f"/projects/{self.id}/"

    def publish_change(self, **fields: Any) -> None:
        """Update the fields and the version. Running tasks notice the change at their next step."""
        Project.objects.filter(pk=self.pk).update(version=F("version") + 1, changed_at=Now(), **fields)


class ProjectMember(Member):
    """A member of a project: has access to all its sessions, including future ones, with the same right."""

    SHARED = "project"

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")

    class Meta:
        db_table = "project_members"
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="member_once_per_project"),
            models.UniqueConstraint(fields=["project", "role"], name="role_once_per_project"),
            models.CheckConstraint(
                condition=Q(user__isnull=True) ^ Q(role__isnull=True), name="project_member_is_a_person_or_a_role"
            ),
        ]
