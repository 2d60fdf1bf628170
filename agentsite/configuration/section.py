"""The base class and field types of a configuration file's sections, and functions that save a section to its row."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

from django.contrib.auth.models import Group
from django.db import models
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, StringConstraints

from llm_app.breaker import MAX_SECONDS


class ConfigurationSection(BaseModel):
    """A section of the file. An unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    def values_in_file(self, *leave_out: str) -> dict[str, Any]:
        """Return the keys that are in the file, with their values. Other columns stay unchanged."""
        return {name: getattr(self, name) for name in self.model_fields_set if name not in leave_out}


def default_of(model: type[models.Model], field: str) -> Any:
    """Return the default of a column, which only the model defines."""
    return cast("models.Field[Any, Any]", model._meta.get_field(field)).get_default()


def _reject_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("should be a number")  # noqa: TRY004  pydantic collects ValueErrors
    return value


def _check_web_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        is_web_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # unbalanced brackets, or an invalid port
        is_web_address = False
    if not is_web_address:
        raise ValueError("should be a whole address that begins with http:// or https://")
    return value


# The bounds are those of the database columns.
_LARGEST = 2**31 - 1
_number = BeforeValidator(_reject_bool)

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
Count = Annotated[int, _number, Field(ge=1, le=_LARGEST)]
CountOrNone = Annotated[int, _number, Field(ge=0, le=_LARGEST)]
Bytes = Annotated[int, _number, Field(ge=1, le=2**63 - 1)]
Number = Annotated[float, _number]
Seconds = Annotated[float, _number, Field(gt=0, le=MAX_SECONDS)]
Amount = Annotated[float, _number, Field(ge=0)]
Dollars = Annotated[Decimal, _number, Field(ge=0, max_digits=14, decimal_places=4)]
Tokens = Annotated[int, _number, Field(ge=0, le=2**63 - 1)]
WebAddress = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=200), AfterValidator(_check_web_address)
]
Secret = Annotated[SecretStr, Field(min_length=1)]

_SHOWN_FIELDS = (models.IntegerField, models.FloatField, models.DecimalField, models.BooleanField)


def save_changes(row: models.Model, values: Mapping[str, Any], label: str) -> Iterator[str]:
    """Set `values` on a new or existing row, and save only the differences. Yield the changes in words."""
    is_new = row._state.adding
    changed = {name: getattr(row, name) for name, value in values.items() if getattr(row, name) != value}
    for name in changed:
        setattr(row, name, values[name])
    if is_new:
        row.save()
        yield f"{label}: created"
    elif changed:
        row.save(update_fields=list(changed))
        yield f"{label}: {', '.join(_change(row, name, old) for name, old in changed.items())}"


def save_roles(row: Any, names: Sequence[str], label: str) -> Iterator[str]:
    """Open a row only to members of these roles; without any, to everyone."""
    present = set(row.roles.values_list("name", flat=True))
    if set(names) != present:
        row.roles.set(Group.objects.filter(name__in=names))
        yield f"{label}: roles [{', '.join(sorted(present))}] → [{', '.join(sorted(names))}]"


def _change(row: models.Model, name: str, old: Any) -> str:
    """Return a change in words. The values of texts are left out, as they may contain a secret."""
    field = row._meta.get_field(name)
    if isinstance(field, _SHOWN_FIELDS) or getattr(field, "choices", None):
        return f"{name} {_formatted(old)} → {_formatted(getattr(row, name))}"
    return f"{name} changed"


def _formatted(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return f"{value:g}" if isinstance(value, float) else str(value)
