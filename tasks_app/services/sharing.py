"""Who else sees a session or a project: people and roles, and for a session links for readers without an account."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db.models import QuerySet

from tasks_app.errors import Refusal
from tasks_app.models import Session, ShareLink

DAYS = (7, 30, 90)
MOST_LINKS = 20


class NobodyOfThatName(Refusal):
    """There is no other person or role of yours with this name. Check the spelling."""

    status = 422


class TooManyLinks(Refusal):
    """This session has as many links as it may have. Revoke one first."""


def roles_open_to(user: Any) -> QuerySet[Group]:
    """Administrators share with each role, others with those that they have."""
    return Group.objects.order_by("name") if user.is_staff else get_user_model().roles_of(user.pk).order_by("name")


def add_member(owner: Any, members: Any, *, person: str = "", role: str = "", may_write: bool = False) -> Any:
    """To the members of a session or a project of `owner`, or with other rights. Raises NobodyOfThatName."""
    who: dict[str, Any] = {"role": roles_open_to(owner).filter(name=role).first()} if role else {}
    if not role:
        people = get_user_model().objects.filter(is_active=True).exclude(pk=owner.pk)
        who = {"user": people.filter(username=person.strip()).first()}
    if None in who.values():
        raise NobodyOfThatName(field="role" if role else "user")
    member, _ = members.update_or_create(defaults={"may_write": may_write}, **who)
    return member


def make_link(session: Session, days: int) -> str:
    """The token of a new link. Raises TooManyLinks."""
    if session.links.count() >= MOST_LINKS:
        raise TooManyLinks()
    return ShareLink.objects.make(session, days)
