"""Creating, changing and deleting projects, and moving sessions between them."""

from typing import Any

from django.db import transaction
from django.db.models import Q

from llm_app import active_secrets
from tasks_app.models import Project, Session
from tasks_app.models.errors import PartOfAnother, Refusal
from tasks_app.record import storable
from tasks_app.runtime import settings_version


class ProjectWithoutName(Refusal):
    """A project needs a name."""

    status = 422


class InstructionsTooLong(Refusal):
    """The instructions may have at most 8,000 characters. Put the rest into a file of the library."""

    status = 422


class ProjectsQuotaFull(Refusal):
    """You have as many projects as you may have. Delete some that you no longer need."""


def create_project(owner: Any, **fields: Any) -> Project:
    """Create a project from `fields`: name, instructions, agent.

    Raises ProjectWithoutName, InstructionsTooLong or ProjectsQuotaFull.
    """
    if Project.objects.filter(owner=owner).count() >= Project.MAX_PER_OWNER:
        raise ProjectsQuotaFull()
    return Project.objects.create(owner=owner, **_validated(fields, {owner.pk}, is_new=True))


def change_project(project: Project, **fields: Any) -> None:
    """Change fields of a project. Running tasks read new instructions at their next step.

    Raises ProjectWithoutName or InstructionsTooLong.
    """
    rights = Project.objects.rights([project.pk]).get(project.pk, {})
    project.publish_change(**_validated(fields, {person for person, may_write in rights.items() if may_write}))
    project.refresh_from_db()


def _validated(fields: dict[str, Any], writers: set[int], *, is_new: bool = False) -> dict[str, Any]:
    """Return validated and redacted fields."""
    redactor = active_secrets.for_users(writers).redactor
    for name in {"name", "instructions"} & fields.keys():
        fields[name] = redactor.redacted(storable(fields[name]).replace("\r\n", "\n").strip())
    if (is_new or "name" in fields) and not fields.get("name"):
        raise ProjectWithoutName(field="name")
    if len(fields.get("instructions", "")) > Project.MAX_INSTRUCTIONS:
        raise InstructionsTooLong(field="instructions")
    if "name" in fields:
        fields["name"] = " ".join(fields["name"].split())[:100]
    return fields


def delete_project(project: Project) -> None:
    """Delete a project with its library and notes. Its sessions stay with their owners."""
    with transaction.atomic():
        Project.objects.select_for_update().filter(pk=project.pk).first()  # blocks new references to the project
        project.delete()


def redacted(project: Project, text: str) -> str:
    """Return a text of the project without the current secrets of its people."""
    people = Project.objects.rights([project.pk]).get(
        project.pk, {project.owner_id}
    )  # the project may have been deleted just now
    return active_secrets.for_users(people).redactor.redacted(text)


def move_session(session: Session, project: Project | None) -> None:
    """Move a session into a project, whose people can then read all of it, or out of one.

    Raises PartOfAnother for a delegated task's session, which stays with its root.
    """
    if session.root_id:
        raise PartOfAnother()
    sessions = Session.objects.filter(Q(pk=session.pk) | Q(root=session.pk)).order_by("created_at")
    with transaction.atomic():
        # Delegating from these sessions, or sharing them, waits for this lock or has finished before it.
        list(sessions.select_for_update(no_key=True).only("pk"))
        sessions.order_by().update(project=project)
        settings_version.increase()  # the sessions are now redacted with other people's secrets
    session.project = project
