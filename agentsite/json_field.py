"""A form field for JSON in the admin: text that cannot be parsed is a form error instead of a server error."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.forms.fields import InvalidJSONInput

MAX_CHARACTERS = 100_000


class JSONFormField(forms.JSONField):
    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > MAX_CHARACTERS:
            raise ValidationError(f"Write at most {MAX_CHARACTERS} characters.")
        try:
            return super().to_python(value)
        except (RecursionError, ValueError) as error:  # deep nesting, or a number with thousands of digits
            raise ValidationError(self.error_messages["invalid"], code="invalid", params={"value": "…"}) from error

    def bound_data(self, data: Any, initial: Any) -> Any:
        """Return the input to show again, even if it is nested too deeply to be parsed."""
        try:
            return super().bound_data(data, initial)
        except (RecursionError, ValueError):
            return InvalidJSONInput(data)


def install() -> None:
    """Use this field for JSON on all admin pages. Call it before the admin's autodiscovery."""
    from unfold.overrides import FORMFIELD_OVERRIDES

    FORMFIELD_OVERRIDES[models.JSONField]["form_class"] = JSONFormField
