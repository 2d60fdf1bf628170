"""The keyed hash that links each entry to its predecessor: any change in the record shows."""

import hashlib
import hmac
from functools import lru_cache

import orjson
from django.conf import settings

from tasks_app.models import ContextEntry


@lru_cache(maxsize=8)
def _derived(secret: str) -> tuple[bytes, str]:
    key = hashlib.sha256(b"agentsite record chain\0" + secret.encode()).digest()
    return key, hashlib.sha256(key).hexdigest()[:16]


def key_id() -> str:
    """The id of the key in use: the newest of FIELD_ENCRYPTION_KEY."""
    return _derived(_secrets()[0])[1]


def key_ids() -> list[str]:
    """The ids of all keys of FIELD_ENCRYPTION_KEY, newest first."""
    return list(_keys())


def link(entry: ContextEntry, predecessor: str) -> str:
    """The hash of what was appended and its predecessor's hash, in hex, by the key in use."""
    return _hash(entry, predecessor, _derived(_secrets()[0])[0])


def holds(entry: ContextEntry, predecessor: str) -> bool:
    """Whether an entry is what was appended behind its predecessor, by the key that it names."""
    key = _keys().get(entry.hash_key)
    return key is not None and _hash(entry, predecessor, key) == entry.hash


def knows_key_of(entry: ContextEntry) -> bool:
    """Whether the key that an entry names is one of FIELD_ENCRYPTION_KEY."""
    return entry.hash_key in _keys()


def _hash(entry: ContextEntry, predecessor: str, key: bytes) -> str:
    """Metadata is outside: it may change.

    Pictures are a field only where there are some: without them, the hash is that of the first version.
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
    return hmac.digest(key, orjson.dumps(fields), "sha256").hex()


def _keys() -> dict[str, bytes]:
    return {key_id: key for key, key_id in map(_derived, _secrets())}


def _secrets() -> list[str]:
    """Newest first: each that was in use stays, so that what it has signed can be checked."""
    return [key.strip() for key in str(settings.FIELD_ENCRYPTION_KEY).split(",")]
