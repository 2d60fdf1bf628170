"""Encrypting anew, with the newest key, whatever is encrypted in the database."""

from collections.abc import Iterator

from django.apps import apps
from django.db import models, transaction

from llm_app.encryption import EncryptedTextField


def rotate() -> Iterator[tuple[str, int]]:
    """(name of a column, rows encrypted anew) for each encrypted column. Raises ImproperlyConfigured."""
    for model in apps.get_models():
        for field in model._meta.fields:
            if isinstance(field, EncryptedTextField):
                yield f"{model._meta.db_table}.{field.column}", _rotate(model, field.attname)


def _rotate(model: type[models.Model], name: str) -> int:
    """Row by row, each read under a lock: a value that is saved in the meantime is not written back."""
    count = 0
    for pk in model._base_manager.exclude(**{name: ""}).values_list("pk", flat=True):
        with transaction.atomic():
            row = model._base_manager.select_for_update().filter(pk=pk).values_list(name, flat=True).first()
            if row:
                count += model._base_manager.filter(pk=pk).update(**{name: row})
    return count
