"""JSON in forms of the administration: text that the parser cannot take is an error of its field, not a fault."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.forms.fields import InvalidJSONInput

LONGEST = 100_000  # characters


class JSONFormField(forms.JSONField):
    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > LONGEST:
            raise ValidationError(f"Write at most {LONGEST} characters.")
        try:
            return super().to_python(value)
        except (RecursionError, ValueError) as error:  # nested very deeply; a number of thousands of digits
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": "…"}) from error

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the input to show again, also if it is nested too deeply to be parsed."""
        try:
            return super().bound_data(data, initial)
        except (RecursionError, ValueError):
            return InvalidJSONInput(data)


def install() -> None:
    """Give every admin page with JSON this field. Call it before the admin finds its pages."""
    from unfold.overrides import FORMFIELD_OVERRIDES

    FORMFIELD_OVERRIDES[models.JSONField]["form_class"] = JSONFormField
