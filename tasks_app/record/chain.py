"""The keyed hash that links each entry to its predecessor: any change in the record shows."""

import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache

import orjson
from django.conf import settings

from tasks_app.models import ContextEntry


class Key:
    """A key whose hash has begun: HMAC (RFC 2104) takes it up at the beginning, and again at the end."""

    def __init__(self, secret: str) -> None:
        key = hashlib.sha256(b"agentsite record chain\0" + secret.encode()).digest()
        self.id = hashlib.sha256(key).hexdigest()[:16]
        self._begun = hmac.new(key, digestmod="sha256")

    def link(self, entry: ContextEntry, predecessor: str) -> str:
        """The hash of what was appended and its predecessor's hash, in hex.

        Metadata is outside: it may change. Pictures are a field only where there are some: without them, the hash is
        that of the first version.
        """
        fields = [
            entry.seq,
            entry.context_type,
            entry.in_context,
            entry.role,
            entry.content,
            entry.thinking,
            entry.tool_call,
            entry.tool_call_id,
            str(entry.task_id),
            entry.created_at.isoformat(),
            *([entry.images] if entry.images else []),
            predecessor,
        ]
        begun = self._begun.copy()
        begun.update(orjson.dumps(fields))
        return begun.hexdigest()


def key() -> Key:
    """The one in use: the newest of FIELD_ENCRYPTION_KEY."""
    return _keys()[0]


def key_ids() -> list[str]:
    """The ids of all keys of FIELD_ENCRYPTION_KEY, newest first."""
    return [key.id for key in _keys()]


def holds(entry: ContextEntry, predecessor: str) -> bool:
    """Whether an entry is what was appended behind its predecessor, by the key that it names."""
    return any(key.link(entry, predecessor) == entry.hash for key in _keys() if key.id == entry.hash_key)


def knows_key_of(entry: ContextEntry) -> bool:
    """Whether the key that an entry names is one of FIELD_ENCRYPTION_KEY."""
    return entry.hash_key in key_ids()


def _keys() -> Sequence[Key]:
    """Newest first: each that was in use stays, so that what it has signed can be checked."""
    return _keys_of(str(settings.FIELD_ENCRYPTION_KEY))


@lru_cache(maxsize=8)
def _keys_of(setting: str) -> Sequence[Key]:
    return [Key(secret.strip()) for secret in setting.split(",")]
