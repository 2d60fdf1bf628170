"""The secrets that this process has ever decrypted. They are redacted in its log."""

import threading
from functools import lru_cache

from django.conf import settings

from llm_app.redaction.redactor import Redactor
from llm_app.redaction.refusal import is_too_plain

_MAX_VALUES = 5_000  # values; the oldest are forgotten
_UNNAMED = "unnamed"
_lock = threading.Lock()
_names: dict[str, str] = {}  # by value


def remember(value: str, name: str = "") -> None:
    """Remember a secret with its name, if known. Called when a secret is decrypted or encrypted."""
    name = name or _names.get(value, _UNNAMED)
    if _names.get(value) == name or is_too_plain(value):
        return
    with _lock:
        _names[value] = name
        while len(_names) > _MAX_VALUES:
            del _names[next(iter(_names))]


def redactor() -> Redactor:
    """Return a redactor of all remembered secrets and the server's own keys."""
    with _lock:
        return _redactor((*server_keys(), *((name, value) for value, name in _names.items())))


@lru_cache(maxsize=1)
def _redactor(secrets: tuple[tuple[str, str], ...]) -> Redactor:
    return Redactor(secrets)


def server_keys() -> tuple[tuple[str, str], ...]:
    encryption = [key.strip() for key in settings.FIELD_ENCRYPTION_KEY.split(",")]
    keys = [("server.SECRET_KEY", settings.SECRET_KEY), *(("server.FIELD_ENCRYPTION_KEY", key) for key in encryption)]
    keys.append(("server.STORAGE_URL", settings.STORAGES["default"]["OPTIONS"].get("secret_key") or ""))
    return tuple((name, key) for name, key in keys if key)
