"""Sharing of sessions and projects with people and roles, and of sessions by links."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet

from tasks_app.models import Project, Session, ShareLink
from tasks_app.models.errors import PartOfAnother, Refusal

DAYS = (7, 30, 90)
MAX_LINKS = 20


class NobodyOfThatName(Refusal):
    """There is no other person or role of yours with this name. Check the spelling."""

    status = 422


class TooManyLinks(Refusal):
    """This session has as many links as it may have. Revoke one first."""


class OwnerStays(Refusal):
    """A project needs its owner, so you cannot leave yours. Delete it if nobody needs it any more."""


class MemberByRole(Refusal):
    """You are in this project by a role of yours. Ask its owner to remove that role, or an administrator."""


def roles_open_to(user: Any) -> QuerySet[Group]:
    """Return the roles with which the user can share: all for administrators, else the user's own."""
    return Group.objects.order_by("name") if user.is_staff else get_user_model().roles_of(user.pk).order_by("name")


def add_member(owner: Any, shared: Any, *, person: str = "", role: str = "", may_write: bool = False) -> Any:
    """Add a person or role to a session or project of `owner`, or change their rights.

    Raises NobodyOfThatName, or PartOfAnother for a delegated task's session, which has the members of its root.
    """
    if isinstance(shared, Session) and shared.root_id:
        raise PartOfAnother()
    lookup: dict[str, Any] = {"role": roles_open_to(owner).filter(name=role).first()} if role else {}
    if not role:
        people = get_user_model().objects.filter(is_active=True).exclude(pk=owner.pk)
        lookup = {"user": people.filter(username=person.strip()).first()}
    if None in lookup.values():
        raise NobodyOfThatName(field="role" if role else "user")
    with transaction.atomic():
        type(shared).objects.select_for_update(no_key=True).get(pk=shared.pk)  # the same lock order as deletion
        member, _ = shared.memberships.update_or_create(defaults={"may_write": may_write}, **lookup)
    return member


def leave_project(project: Project, user: Any) -> None:
    """Remove the user from a project. They keep access to their own sessions, which stay in it.

    Raises OwnerStays, or MemberByRole if the user would remain a member through a role.
    """
    if project.owner_id == user.pk:
        raise OwnerStays()
    with transaction.atomic():
        project.memberships.filter(user=user).delete()
        if Project.objects.visible_to(user).filter(pk=project.pk).exists():
            raise MemberByRole()
        project.publish_change()


def make_link(session: Session, days: int) -> str:
    """Create a link and return its token. Raises TooManyLinks."""
    if session.links.count() >= MAX_LINKS:
        raise TooManyLinks()
    return ShareLink.objects.create_link(session, days)
