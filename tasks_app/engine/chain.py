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
    return _derived(_newest())[1]


def link(entry: ContextEntry, predecessor: str) -> str:
    """The hash of what was appended and its predecessor's hash, in hex. Metadata is outside: it may change.

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
    return hmac.digest(_derived(_newest())[0], orjson.dumps(fields), "sha256").hex()


def _newest() -> str:
    return str(settings.FIELD_ENCRYPTION_KEY).split(",")[0].strip()
