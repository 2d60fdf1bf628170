"""The keyed hash that links each entry to its predecessor, so that any change to the record is detected."""

import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache

import orjson
from django.conf import settings

from tasks_app.models import ContextEntry


class Key:
    """A signing key with a prepared HMAC (RFC 2104), which is copied for each entry."""

    def __init__(self, secret: str) -> None:
        key = hashlib.sha256(b"agentsite record chain\0" + secret.encode()).digest()
        self.id = hashlib.sha256(key).hexdigest()[:16]
        self._hmac = hmac.new(key, digestmod="sha256")

    def link(self, entry: ContextEntry, predecessor: str) -> str:
        """Return the hex hash of the entry's appended fields and of its predecessor's hash.

        Metadata is not hashed, because it may change. Images are hashed only if there are any, so that entries without
        images keep the hash of the first version.
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
        digest = self._hmac.copy()
        digest.update(orjson.dumps(fields))
        return digest.hexdigest()


def key() -> Key:
    """Return the key that signs new entries: the first of FIELD_ENCRYPTION_KEY."""
    return _keys()[0]


def key_ids() -> list[str]:
    """Return the ids of all keys in FIELD_ENCRYPTION_KEY, newest first."""
    return [key.id for key in _keys()]


def is_valid(entry: ContextEntry, predecessor: str) -> bool:
    """Return whether the entry is unchanged and follows this predecessor, according to the key that it names."""
    return any(key.link(entry, predecessor) == entry.hash for key in _keys() if key.id == entry.hash_key)


def has_key_of(entry: ContextEntry) -> bool:
    """Return whether FIELD_ENCRYPTION_KEY still has the entry's key."""
    return entry.hash_key in key_ids()


def _keys() -> Sequence[Key]:
    """Return all keys, newest first. Old keys stay, to verify the entries that they signed."""
    return _keys_of(str(settings.FIELD_ENCRYPTION_KEY))


@lru_cache(maxsize=8)
def _keys_of(setting: str) -> Sequence[Key]:
    return [Key(secret.strip()) for secret in setting.split(",")]
