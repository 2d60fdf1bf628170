"""Writing one row so that only what differs is written, and saying what that was."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.db import models

_OPEN = (models.IntegerField, models.FloatField, models.DecimalField, models.BooleanField)


def put(row: models.Model, values: Mapping[str, Any], what: str) -> Iterator[str]:
    """Sets `values` on a new or an existing row and saves it; yields the change in words, nothing if there is none."""
    is_new = row._state.adding
    changed = {name: getattr(row, name) for name, value in values.items() if getattr(row, name) != value}
    for name in changed:
        setattr(row, name, values[name])
    if is_new:
        row.save()
        yield f"{what}: created"
    elif changed:
        row.save(update_fields=list(changed))
        yield f"{what}: {', '.join(_change(row, name, old) for name, old in changed.items())}"


def _change(row: models.Model, name: str, old: Any) -> str:
    """Numbers and choices are shown; texts are not, for they may hold a secret."""
    field = row._meta.get_field(name)
    if isinstance(field, _OPEN) or getattr(field, "choices", None):
        return f"{name} {_shown(old)} → {_shown(getattr(row, name))}"
    return f"{name} changed"


def _shown(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return f"{value:g}" if isinstance(value, float) else str(value)
