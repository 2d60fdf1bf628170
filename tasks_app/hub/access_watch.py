"""The periodic check of subscribers' access, with a few queries for all sessions of the process."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session as Login
from django.utils import timezone
from knox.models import get_token_model

from llm_app.sql.composed_query import Select
from tasks_app.models import Session
from tasks_app.models.session import RIGHTS, rights_of_rows

Fingerprint = tuple[Any, ...]
_FIELDS = (*RIGHTS, "last_seq", "task_id", "task_state", "task_waiting_for")
_OF_USERS = ("pk", "password", "is_active", "is_staff")
_standings = Select(lambda *of: Session.objects.filter(pk__in=of).order_by().with_newest_task().values_list(*_FIELDS))
_users = Select(lambda *of: get_user_model().objects.filter(pk__in=of).values_list(*_OF_USERS))
_logins = Select(lambda *of: Login.objects.filter(pk__in=of).values_list("pk", "session_data", "expire_date"))
_tokens = Select(lambda *of: get_token_model().objects.filter(pk__in=of).values_list("pk", "expiry"))


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The login (its key) or token (its digest) that gives a client access. `check` raises once it is invalid."""

    user_id: int
    login: str = ""
    token: str = ""
    check: Callable[[], None] = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A session's access rights (user id to write permission), its last entry, and the state of its newest task."""

    rights: Mapping[int, bool]
    last_seq: int
    task: tuple[str | None, str | None, str | None]


class Watch:
    """A periodic check with a constant number of queries. A credential is checked again only when its rows change."""

    def __init__(self) -> None:
        self.staff: set[int] = set()  # ids of the subscribers who are administrators
        self._checked: dict[Admission, Fingerprint] = {}

    def look(
        self, sessions: Collection[UUID], admissions: Collection[Admission]
    ) -> tuple[dict[UUID, Standing], dict[Admission, Exception]]:
        """Return the statuses of the sessions, and the invalid credentials with their errors."""
        return self.standings(sessions), self.refused(admissions)

    def standings(self, sessions: Collection[UUID]) -> dict[UUID, Standing]:
        """Return the statuses of the sessions that exist."""
        found = _standings.of_keys(sessions)
        rights = rights_of_rows(found)
        return {
            pk: Standing(rights=rights[pk], last_seq=last_seq, task=(str(task) if task else None, state, waiting_for))
            for pk, _, _, _, last_seq, task, state, waiting_for in found
        }

    def refused(self, admissions: Collection[Admission]) -> dict[Admission, Exception]:
        """Return the credentials that are no longer valid, with the errors that their checks raised."""
        fingerprints = _fingerprints(admissions)
        self.staff = {one.user_id for one, (user, *_) in fingerprints.items() if user and user[-1]}
        refused: dict[Admission, Exception] = {}
        for admission in admissions:
            if self._checked.get(admission) == fingerprints[admission]:
                continue
            try:
                admission.check()
            except Exception as error:  # noqa: BLE001  any error ends the connection of its client
                refused[admission] = error
        self._checked = {one: fingerprints[one] for one in admissions if one not in refused}
        return refused


def _fingerprints(admissions: Collection[Admission]) -> dict[Admission, Fingerprint]:
    """Return the rows that the checks depend on. They are read before the checks run."""
    now = timezone.now()
    users = {key: row for key, *row in _users.of_keys({one.user_id for one in admissions})}
    logins = {key: row for key, *row in _logins.of_keys({one.login for one in admissions} - {""})}
    tokens = {key: row for key, *row in _tokens.of_keys({one.token for one in admissions} - {""})}
    found: dict[Admission, Fingerprint] = {}
    for one in admissions:
        row: Any = logins.get(one.login) if one.login else tokens.get(one.token)
        is_over = row is None or (row[-1] is not None and row[-1] <= now)
        found[one] = (users.get(one.user_id), row, is_over)
    return found
