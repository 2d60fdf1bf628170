"""The form of an agent: tools and patterns as people write them, not as JSON."""

import re
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget

from tools_app.admin.tool_names import ToolNamesField

_HOOKS = ["autopilot", "self_verification", "termination_review", "review_model", "withheld_patterns"]
FIELDSETS = (
    (None, {"fields": ["name", "description", "is_default", "model"]}),
    ("Tools", {"fields": ["denied_tools", "safe_mode"]}),
    (
        "Hooks",
        {"fields": _HOOKS},
    ),
    ("Long sessions", {"fields": ["prune_outputs", "shorten_results", "summarise"]}),
)


class PatternsField(forms.CharField):
    """Regular expressions, one a line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: str) -> list[str]:
        patterns = [line for line in super().clean(value).splitlines() if line.strip()]
        for number, pattern in enumerate(patterns, 1):
            try:
                re.compile(pattern)
            except re.error as error:
                raise forms.ValidationError(f"Line {number} is no regular expression: {error}.") from error
        return patterns


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    denied_tools = ToolNamesField(help_text="Tools that it never has.")
    withheld_patterns = PatternsField(
        required=False,
        label="Output filter",
        help_text="Regular expressions, one a line: results and messages in which one is found are withheld whole. "
        "While there are any, messages are not streamed.",
    )
