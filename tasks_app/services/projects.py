"""Projects: create and change them; sessions are moved in and out."""

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
    """`fields`: name, instructions, agent. Raises ProjectWithoutName, InstructionsTooLong or ProjectsQuotaFull."""
    if Project.objects.filter(owner=owner).count() >= Project.MOST:
        raise ProjectsQuotaFull()
    return Project.objects.create(owner=owner, **_checked(fields, {owner.pk}, is_new=True))


def change_project(project: Project, **fields: Any) -> None:
    """The same fields. Instructions hold from the next step of running tasks on.

    Raises ProjectWithoutName or InstructionsTooLong.
    """
    rights = Project.objects.rights([project.pk]).get(project.pk, {})
    project.tell_tasks(**_checked(fields, {person for person, may_write in rights.items() if may_write}))
    project.refresh_from_db()


def _checked(fields: dict[str, Any], writers: set[int], *, is_new: bool = False) -> dict[str, Any]:
    """As they are stored: without what is secret."""
    redactor = active_secrets.of_people(writers).redactor
    for name in {"name", "instructions"} & fields.keys():
        fields[name] = redactor.redacted(storable(fields[name]).replace("\r\n", "\n").strip())
    if (is_new or "name" in fields) and not fields.get("name"):
        raise ProjectWithoutName(field="name")
    if len(fields.get("instructions", "")) > Project.LONGEST:
        raise InstructionsTooLong(field="instructions")
    if "name" in fields:
        fields["name"] = " ".join(fields["name"].split())[:100]
    return fields


def delete_project(project: Project) -> None:
    """With its library and its notes. Its sessions are kept, each by its owner."""
    with transaction.atomic():
        Project.objects.select_for_update().filter(pk=project.pk).first()  # no new row refers to it from now on
        project.delete()


def redacted(project: Project, text: str) -> str:
    """A text of it as it is shown: without what is secret to its people by now."""
    people = Project.objects.rights([project.pk]).get(project.pk, {project.owner_id})  # it may go at this moment
    return active_secrets.of_people(people).redactor.redacted(text)


def move_session(session: Session, project: Project | None) -> None:
    """Into a project, whose people see it from now on with all that was said, or out of one.

    Raises PartOfAnother: a delegated task is where its root is.
    """
    if session.root_id:
        raise PartOfAnother()
    every = Session.objects.filter(Q(pk=session.pk) | Q(root=session.pk)).order_by("created_at")
    with transaction.atomic():
        # Whoever delegates from one of them has done so, or does it later; who shares one refers to its row at last.
        list(every.select_for_update(no_key=True).only("pk"))
        every.order_by().update(project=project)
        settings_version.increase()  # other people's secrets are redacted in them from now on
    session.project = project
