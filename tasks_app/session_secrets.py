"""Whose secrets are masked in a session: the team's, and those of everyone who may write in it."""

from typing import Any

from django.db.models import QuerySet

from llm_app.redaction import in_force
from llm_app.redaction.in_force import InForce
from llm_app.redaction.masker import Masker
from tasks_app.models import Session, SessionMember


class SessionSecrets:
    """Who may write is read once; what they keep secret, with each `refresh`."""

    def __init__(self, session: Session) -> None:
        self._writers = _writers(Session.objects.filter(pk=session.pk))
        self.in_force = self.refresh()

    def refresh(self) -> InForce:
        self.in_force = in_force.of_people(self._writers)
        return self.in_force

    @property
    def masker(self) -> Masker:
        """As of the last refresh."""
        return self.in_force.masker


def masker_of(session: Session) -> Masker:
    """What masks a session's record at this moment."""
    return SessionSecrets(session).masker


def masker_for(user: Any) -> Masker:
    """Masks whatever a user may see: for lists over many sessions."""
    return in_force.of_people({user.pk, *_writers(Session.objects.visible_to(user))}).masker


def _writers(sessions: QuerySet[Session]) -> set[int]:
    members = SessionMember.objects.filter(session__in=sessions, may_write=True)
    return set(sessions.order_by().values_list("owner", flat=True).union(members.values_list("user", flat=True)))
