"""Command that re-encrypts all encrypted columns after a new key was added at the front of FIELD_ENCRYPTION_KEY."""

from collections.abc import Collection, Iterator
from typing import Any

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import models, transaction

from llm_app.encryption import EncryptedTextField, decrypted, encrypted

_IN_JSON = {"mfa.authenticator": ("data", ("secret", "seed"))}  # encrypted values in JSON columns of other apps


class Command(BaseCommand):
    help = "Re-encrypts stored secrets and keys with the first key of FIELD_ENCRYPTION_KEY."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            for column, count in reencrypt_columns():
                self.stdout.write(f"{column}: {count} re-encrypted")
        except ImproperlyConfigured as error:
            raise CommandError(f"{error} Nothing is lost: add the missing key and run this again.") from error


def reencrypt_columns() -> Iterator[tuple[str, int]]:
    """Yield the name and the number of re-encrypted rows of each encrypted column.

    Raises: ImproperlyConfigured.
    """
    for model in apps.get_models():
        for field in model._meta.fields:
            if isinstance(field, EncryptedTextField):
                yield f"{model._meta.db_table}.{field.column}", _rotate(model, field.attname)
        if model._meta.label_lower in _IN_JSON:
            column, keys = _IN_JSON[model._meta.label_lower]
            yield f"{model._meta.db_table}.{column}", _rotate_json(model, column, keys)


def _rotate(model: type[models.Model], name: str) -> int:
    """Re-encrypt row by row under a lock, so that concurrent changes are not overwritten."""
    count = 0
    for pk in model._base_manager.exclude(**{name: ""}).values_list("pk", flat=True):
        with transaction.atomic():
            row = model._base_manager.select_for_update().filter(pk=pk).values_list(name, flat=True).first()
            if row:
                count += model._base_manager.filter(pk=pk).update(**{name: row})
    return count


def _rotate_json(model: type[models.Model], column: str, keys: Collection[str]) -> int:
    count = 0
    for pk in model._base_manager.values_list("pk", flat=True):
        with transaction.atomic():
            row = model._base_manager.select_for_update().filter(pk=pk).values_list(column, flat=True).first()
            if row:
                values = {key: encrypted(decrypted(value)) if key in keys else value for key, value in row.items()}
                count += model._base_manager.filter(pk=pk).update(**{column: values})
    return count
