"""Form fields for tool names: checkboxes for registered tools, and a text field for tools that may be added later."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextInputWidget

from tools_app.contract import registry
from tools_app.policy import ALWAYS_ALLOWED

_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def optional_tool_names() -> list[str]:
    """Return the names of all registered tools, except the one that is always available."""
    return sorted(tool.name for tool in registry.all_tools() if tool.name != ALWAYS_ALLOWED)


def checked_names(names: Iterable[str]) -> list[str]:
    """Return the sorted names without duplicates.

    Raises: ValidationError for an invalid name.
    """
    unique_names = sorted(set(names))
    if invalid := [name for name in unique_names if not _NAME.fullmatch(name)]:
        raise ValidationError(f"{', '.join(invalid)}: tool names may contain only letters, digits, _ and -.")
    return unique_names


class _ToolNamesWidget(forms.MultiWidget):
    def __init__(self) -> None:
        others = {"placeholder": "Other names, separated by commas: server__tool"}
        super().__init__([UnfoldAdminCheckboxSelectMultipleWidget(), UnfoldAdminTextInputWidget(others)])

    def decompress(self, value: Sequence[str] | None) -> list[Any]:
        return _split(value)


class ToolNamesField(forms.MultiValueField):
    """A list of names of tools."""

    widget = _ToolNamesWidget

    def __init__(self, **options: Any) -> None:
        names = forms.MultipleChoiceField(required=False, choices=_choices)
        super().__init__(fields=[names, forms.CharField(required=False)], required=False, **options)
        self.widget.widgets[0].choices = _choices  # type: ignore[attr-defined]

    def prepare_value(self, value: Any) -> Any:
        """Split the stored names for the two widgets. Posted values are already split."""
        is_posted = isinstance(value, list) and value[:1] and isinstance(value[0], list)
        return value if is_posted else _split(value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(_split(initial), data)

    def compress(self, data_list: Sequence[Any]) -> list[str]:
        selected_names, other_names = data_list or ([], "")
        return checked_names([*selected_names, *(name.strip() for name in other_names.split(",") if name.strip())])


class ToolNameWidget(UnfoldAdminTextInputWidget):
    """A text field that suggests the registered tools."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        text_input = super().render(name, value, {**(attrs or {}), "list": f"{name}-known"}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((tool,) for tool in optional_tool_names()))
        return format_html('{}<datalist id="{}-known">{}</datalist>', text_input, name, options)


def _split(names: Sequence[str] | None) -> list[Any]:
    """Return the names with a checkbox, and the text with the other names."""
    registered_names = optional_tool_names()
    return [
        [name for name in names or () if name in registered_names],
        ", ".join(name for name in names or () if name not in registered_names),
    ]


def _choices() -> list[tuple[str, str]]:
    return [(name, name) for name in optional_tool_names()]
