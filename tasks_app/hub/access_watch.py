"""Whether those who follow sessions still may, and whether a broadcast was lost: asked once for all of this process."""

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
from tasks_app.models.session import RIGHTS, rights_by

Fingerprint = tuple[Any, ...]
_FIELDS = (*RIGHTS, "last_seq", "task_id", "task_state", "task_waiting_for")
_OF_USERS = ("pk", "password", "is_active", "is_staff")
_standings = Select(lambda *of: Session.objects.filter(pk__in=of).order_by().with_newest_task().values_list(*_FIELDS))
_users = Select(lambda *of: get_user_model().objects.filter(pk__in=of).values_list(*_OF_USERS))
_logins = Select(lambda *of: Login.objects.filter(pk__in=of).values_list("pk", "session_data", "expire_date"))
_tokens = Select(lambda *of: get_token_model().objects.filter(pk__in=of).values_list("pk", "expiry"))


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What lets a client in: a login, by its key, or a token, by its digest. `check` raises once it does no more."""

    user_id: int
    login: str = ""
    token: str = ""
    check: Callable[[], None] = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a session stands: who may see it (and write in it), its newest entry, and its newest task with its state."""

    rights: Mapping[int, bool]
    last_seq: int
    task: tuple[str | None, str | None, str | None]


class Watch:
    """Looks every moment, in a thread: a few queries, however many follow. What lets in is checked when it changed."""

    def __init__(self) -> None:
        self.staff: set[int] = set()  # the administrators among those who follow
        self._checked: dict[Admission, Fingerprint] = {}

    def look(
        self, sessions: Collection[UUID], admissions: Collection[Admission]
    ) -> tuple[dict[UUID, Standing], dict[Admission, Exception]]:
        """The standings, and who is refused."""
        return self.standings(sessions), self.refused(admissions)

    def standings(self, sessions: Collection[UUID]) -> dict[UUID, Standing]:
        """Of those that exist."""
        found = _standings.of_keys(sessions)
        rights = rights_by(found)
        return {
            pk: Standing(rights=rights[pk], last_seq=last_seq, task=(str(task) if task else None, state, waiting_for))
            for pk, _, _, _, last_seq, task, state, waiting_for in found
        }

    def refused(self, admissions: Collection[Admission]) -> dict[Admission, Exception]:
        """Those that let nobody in any more, with what their check has raised."""
        fingerprints = _fingerprints(admissions)
        self.staff = {one.user_id for one, (user, *_) in fingerprints.items() if user and user[-1]}
        refused: dict[Admission, Exception] = {}
        for admission in admissions:
            if self._checked.get(admission) == fingerprints[admission]:
                continue
            try:
                admission.check()
            except Exception as error:  # noqa: BLE001  whatever ends it is told to the client that it ends
                refused[admission] = error
        self._checked = {one: fingerprints[one] for one in admissions if one not in refused}
        return refused


def _fingerprints(admissions: Collection[Admission]) -> dict[Admission, Fingerprint]:
    """All that the checks look at; read before they are made."""
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
