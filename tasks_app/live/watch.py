"""Whether those who follow sessions still may, and whether a broadcast was lost: asked once for all of this process."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session as Login
from django.utils import timezone
from knox.models import get_token_model

from tasks_app.models import Session
from tasks_app.models.session import RIGHTS, rights_by

Fingerprint = tuple[object, ...]


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
    """Looks every moment, in a thread: a few queries, whoever many follow. What lets in is checked when it changed."""

    def __init__(self) -> None:
        self._checked: dict[Admission, Fingerprint] = {}

    def standings(self, sessions: Collection[UUID]) -> dict[UUID, Standing]:
        """Of those that exist."""
        fields = (*RIGHTS, "last_seq", "task_id", "task_state", "task_waiting_for")
        found = list(Session.objects.filter(pk__in=sessions).order_by().with_newest_task().values_list(*fields))
        rights = rights_by(found)
        return {
            pk: Standing(rights=rights[pk], last_seq=last_seq, task=(str(task) if task else None, state, waiting_for))
            for pk, _, _, _, last_seq, task, state, waiting_for in found
        }

    def refused(self, admissions: Collection[Admission]) -> dict[Admission, Exception]:
        """Those that let nobody in any more, with what their check has raised."""
        fingerprints = _fingerprints(admissions)
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
    users = _rows(get_user_model(), "pk", {one.user_id for one in admissions}, "password", "is_active")
    logins = _rows(Login, "session_key", {one.login for one in admissions} - {""}, "session_data", "expire_date")
    tokens = _rows(get_token_model(), "digest", {one.token for one in admissions} - {""}, "expiry")
    found: dict[Admission, Fingerprint] = {}
    for one in admissions:
        row = logins.get(one.login) if one.login else tokens.get(one.token)
        is_over = row is None or (row[-1] is not None and row[-1] <= now)
        found[one] = (users.get(one.user_id), row, is_over)
    return found


def _rows(model: Any, key: str, values: Collection[object], *fields: str) -> dict[Any, tuple[Any, ...]]:
    if not values:
        return {}
    rows = model._default_manager.filter(**{f"{key}__in": values}).values_list(key, *fields)
    return {row[0]: row[1:] for row in rows}
