"""The secrets to redact: of the team, of some users, and the keys of providers, services and the server."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from django.db import connection

from llm_app.encryption import decrypted
from llm_app.redaction import Redactor, is_too_plain, seen_values

Row = tuple[int, str, int | None, str]  # 1 for a key else 0, name, owner, encrypted value
_STORED = """
    SELECT 0, name, owner_id, value FROM secrets WHERE {}
    UNION ALL SELECT 1, 'provider.' || name, NULL, api_key FROM providers WHERE api_key <> ''
    UNION ALL SELECT 1, name, NULL, value FROM service_keys
"""


@dataclass(frozen=True, kw_only=True)
class ActiveSecrets:
    """The current secrets of some users and of the team."""

    secrets: tuple[tuple[str, int | None, str], ...]  # name, owner, value
    keys: tuple[tuple[str, str], ...]  # name, value

    @cached_property
    def redactor(self) -> Redactor:
        """Return the redactor.

        If a value has several names, a user's goes before the team's, and both before a key's.
        """
        user_ids = sorted(self.secrets, key=lambda row: (row[1] is None, row[0], row[1] or 0))
        return Redactor([*((name, value) for name, _, value in user_ids), *self.keys])

    @property
    def of_team(self) -> dict[str, str]:
        """Return the values of the team's secrets by name."""
        return {name: value for name, owner, value in self.secrets if owner is None}


def for_users(owners: Iterable[int]) -> ActiveSecrets:
    """Return the secrets of some users and of the team. If nothing changed, this costs one query.

    Call this before each step, so that new secrets are redacted immediately.
    """
    user_ids = tuple(set(owners)) or (None,)
    return _current(f"owner_id IS NULL OR owner_id IN ({', '.join(['%s'] * len(user_ids))})", user_ids)


def for_everyone() -> ActiveSecrets:
    return _current("1 = 1", ())


def _current(condition: str, parameters: Sequence[int | None]) -> ActiveSecrets:
    """Return the stored secrets.

    Raw SQL, because this runs several times per step: the ORM takes 0.7 ms, the database 0.1 ms.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STORED.format(condition), parameters)
        return _decrypted(tuple(sorted(cursor.fetchall(), key=lambda row: (*row[:2], row[2] or 0))))


@lru_cache(maxsize=256)
def _decrypted(rows: tuple[Row, ...]) -> ActiveSecrets:
    """Decrypt rows. The encrypted values are the cache key, so every change leads to a new entry."""
    secrets = [(name, owner, decrypted(stored)) for is_key, name, owner, stored in rows if not is_key]
    keys = [(name, decrypted(stored)) for is_key, name, _, stored in rows if is_key]
    keys = [(name, value) for name, value in keys if not is_too_plain(value)]
    for name, value in [*((name, value) for name, _, value in secrets), *keys]:
        seen_values.remember(value, name)
    return ActiveSecrets(secrets=tuple(secrets), keys=(*keys, *seen_values.server_keys()))
