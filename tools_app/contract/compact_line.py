"""The line that stays of an old call: which tool did what, by its template."""

import re
from collections.abc import Mapping
from typing import Any

from tools_app.contract import registry
from tools_app.errors import UnknownTool

_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_FIELD = re.compile(r"\{(\w+)\}")


def compact_line(name: str, arguments: Mapping[str, Any]) -> str:
    """A template names arguments in braces; a part in brackets goes where one of its arguments is missing.

    A tool without a template, or one that is gone, is its name and its arguments.
    """
    try:
        template = registry.get(name).compact_template
    except UnknownTool:
        template = ""
    if not template:
        return " ".join([name, *(f"{key}={value}" for key, value in arguments.items())])
    return _filled(_OPTIONAL.sub(lambda part: _optional(part[1], arguments), template), arguments)


def _optional(part: str, arguments: Mapping[str, Any]) -> str:
    is_given = all(arguments.get(name) is not None for name in _FIELD.findall(part))
    return part if is_given else ""


def _filled(template: str, arguments: Mapping[str, Any]) -> str:
    return _FIELD.sub(lambda field: str(arguments.get(field[1], "")), template)
