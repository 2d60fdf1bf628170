"""Keys and secrets in the admin: values can be set but are never displayed."""

from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminPasswordWidget

from llm_app.encryption import EncryptedTextField


class WriteOnlyField(forms.CharField):
    """A field that is always displayed empty. An empty input is no change."""

    def __init__(self, **kwargs: Any) -> None:
        # "new-password" stops browsers from offering the administrator's own password.
        super().__init__(**kwargs | {"widget": UnfoldAdminPasswordWidget({"autocomplete": "new-password"})})

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(data)


class WriteOnlyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form that keeps the stored value of a write-only field that is left empty."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self._write_only():
            self.initial.pop(name, None)
            if getattr(self.instance, name):
                self.fields[name].required = False
                self.fields[name].help_text = "A value is stored. Leave this empty to keep it."

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        return {name: value for name, value in cleaned.items() if value or name not in self._write_only()}

    def _write_only(self) -> list[str]:
        return [name for name, field in self.fields.items() if isinstance(field, WriteOnlyField)]


class WriteOnlyAdmin(ModelAdmin):
    """An admin of a model with encrypted columns. Users with view permission only do not see these columns."""

    form = WriteOnlyForm
    formfield_overrides = {EncryptedTextField: {"form_class": WriteOnlyField}}

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = list(super().get_fields(request, obj))
        if obj is None or self.has_change_permission(request, obj):
            return fields
        hidden = {field.name for field in self.opts.fields if isinstance(field, EncryptedTextField)}
        return [name for name in fields if name not in hidden]
