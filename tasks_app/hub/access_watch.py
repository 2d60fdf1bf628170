"""The periodic check of subscribers' access, with a few queries for all sessions of the process."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session as Login
from django.utils import timezone
from knox.models import get_token_model

from llm_app.sql import cached_sql, fetch_all
from tasks_app.models import Session
from tasks_app.models.session import RIGHTS, rights_of_rows

Fingerprint = tuple[Any, ...]
_FIELDS = (*RIGHTS, "last_seq", "task_id", "task_state", "task_waiting_for")
_OF_USERS = ("pk", "password", "is_active", "is_staff")


@cached_sql
def _session_rows(keys: Collection[UUID]) -> list[tuple[Any, ...]]:
    return fetch_all(Session.objects.filter(pk__in=keys).order_by().with_newest_task().values_list(*_FIELDS))


@cached_sql
def _user_rows(keys: Collection[int]) -> list[tuple[Any, ...]]:
    return fetch_all(get_user_model().objects.filter(pk__in=keys).values_list(*_OF_USERS))


@cached_sql
def _login_rows(keys: Collection[str]) -> list[tuple[Any, ...]]:
    return fetch_all(Login.objects.filter(pk__in=keys).values_list("pk", "session_data", "expire_date"))


@cached_sql
def _token_rows(keys: Collection[str]) -> list[tuple[Any, ...]]:
    return fetch_all(get_token_model().objects.filter(pk__in=keys).values_list("pk", "expiry"))


@dataclass(frozen=True, kw_only=True)
class Credential:
    """The login (its key) or token (its digest) that gives a client access. `check` raises once it is invalid."""

    user_id: int
    login: str = ""
    token: str = ""
    check: Callable[[], None] = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class SessionStatus:
    """A session's rights (write permission by user id), last entry and its newest task (id, state, reason to wait)."""

    rights: Mapping[int, bool]
    last_seq: int
    task: tuple[str | None, str | None, str | None]


class AccessWatch:
    """A periodic check with a constant number of queries. A credential is checked again only when its rows change."""

    def __init__(self) -> None:
        self.staff_ids: set[int] = set()  # ids of subscribers with `is_staff`
        self._fingerprints: dict[Credential, Fingerprint] = {}  # of the valid credentials

    def check(
        self, sessions: Collection[UUID], credentials: Collection[Credential]
    ) -> tuple[dict[UUID, SessionStatus], dict[Credential, Exception]]:
        """Return the statuses of the sessions, and the invalid credentials with their errors."""
        return self.statuses(sessions), self.invalid(credentials)

    def statuses(self, sessions: Collection[UUID]) -> dict[UUID, SessionStatus]:
        """Return the statuses of the sessions that exist."""
        rows = _session_rows(list(sessions))
        rights = rights_of_rows(rows)
        statuses = {}
        for pk, _, _, _, last_seq, task_id, state, waiting_for in rows:
            task = (str(task_id) if task_id else None, state, waiting_for)
            statuses[pk] = SessionStatus(rights=rights[pk], last_seq=last_seq, task=task)
        return statuses

    def invalid(self, credentials: Collection[Credential]) -> dict[Credential, Exception]:
        """Return the credentials that are no longer valid, with the errors that their checks raised."""
        fingerprints = _read_fingerprints(credentials)
        self.staff_ids = {credential.user_id for credential, (user, *_) in fingerprints.items() if user and user[-1]}
        invalid: dict[Credential, Exception] = {}
        for credential in credentials:
            if self._fingerprints.get(credential) == fingerprints[credential]:
                continue
            try:
                credential.check()
            except Exception as error:  # noqa: BLE001  any error ends the connection of its client
                invalid[credential] = error
        self._fingerprints = {key: value for key, value in fingerprints.items() if key not in invalid}
        return invalid


def _read_fingerprints(credentials: Collection[Credential]) -> dict[Credential, Fingerprint]:
    """Return the rows that the checks depend on. They are read before the checks run."""
    now = timezone.now()
    users = {key: row for key, *row in _user_rows({credential.user_id for credential in credentials})}
    logins = {key: row for key, *row in _login_rows({credential.login for credential in credentials} - {""})}
    tokens = {key: row for key, *row in _token_rows({credential.token for credential in credentials} - {""})}
    fingerprints: dict[Credential, Fingerprint] = {}
    for credential in credentials:
        row: Any = logins.get(credential.login) if credential.login else tokens.get(credential.token)
        has_expired = row is None or (row[-1] is not None and row[-1] <= now)
        fingerprints[credential] = (users.get(credential.user_id), row, has_expired)
    return fingerprints
