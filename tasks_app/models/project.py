"""A project: sessions that share instructions, members, a default agent, memory and a library."""

import uuid
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from tasks_app.models.agent import Agent
from tasks_app.models.sharing import Member


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, user: Any) -> "ProjectQuerySet":
        """One's own, and those that one is a member of: where every query for projects starts."""
        return self._of(user, ProjectMember.objects.of_user(user))

    def writable_by(self, user: Any) -> "ProjectQuerySet":
        """Those in which one starts sessions, and whose instructions and library one changes."""
        return self._of(user, ProjectMember.objects.of_user(user).filter(may_write=True))

    def _of(self, user: Any, members: models.QuerySet[Any]) -> "ProjectQuerySet":
        return self.filter(Q(owner=user) | Q(pk__in=members.values("project")))

    def rights(self, projects: Collection[uuid.UUID]) -> dict[uuid.UUID, dict[int, bool]]:
        """For each of these, whether each of its people may write in it."""
        members = ProjectMember.objects.rights(projects)
        owners = self.filter(pk__in=projects).values_list("pk", "owner") if projects else ()
        return {pk: members.get(pk, {}) | {owner: True} for pk, owner in owners}


class Project(models.Model):
    """`version` is raised by each change of what running tasks must know of it."""

    LONGEST = 8000  # characters of instructions
    MOST = 200  # of one owner

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="owned_projects")
    name = models.CharField(max_length=100)
    instructions = models.TextField(blank=True, max_length=LONGEST, help_text="What the agent is told in each session.")
    agent = models.ForeignKey(
        Agent,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="With whom a session begins where no other is chosen. Empty: the default agent.",
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

    def tell_tasks(self, **fields: Any) -> None:
        """Sets these; what runs in its sessions knows it from its next step on."""
        Project.objects.filter(pk=self.pk).update(version=F("version") + 1, changed_at=Now(), **fields)


class ProjectMember(Member):
    """Sees each session of the project, those to come as well; who may write may write in each."""

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
