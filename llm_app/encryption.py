"""Encrypted columns.

`FIELD_ENCRYPTION_KEY` contains comma-separated keys, the newest first, so that keys can rotate.
"""

from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models

from llm_app.redaction import seen_values


def cipher() -> MultiFernet:
    try:
        return MultiFernet([Fernet(key.strip()) for key in settings.FIELD_ENCRYPTION_KEY.split(",")])
    except ValueError as error:
        raise ImproperlyConfigured(
            "FIELD_ENCRYPTION_KEY must be one or more Fernet keys: 32 bytes in url-safe base64, comma-separated."
        ) from error


def encrypted(value: str) -> str:
    seen_values.remember(value)
    return cipher().encrypt(value.encode()).decode()


def decrypted(stored: str) -> str:
    """Decrypt a value.

    Raises: ImproperlyConfigured if no key fits.
    """
    try:
        value = cipher().decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise ImproperlyConfigured(
            "A stored key cannot be decrypted: FIELD_ENCRYPTION_KEY is not the one it was saved with."
        ) from error
    seen_values.remember(value)
    return value


class EncryptedTextField(models.TextField):  # type: ignore[type-arg]
    """Text that is encrypted in the database."""

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypted(text) if text else text

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        return decrypted(value) if value else value
