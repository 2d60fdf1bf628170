"""What replaces a secret: its name, in a form that needs no escaping in JSON, URLs or Markdown."""

import re
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_PLACEHOLDER = re.compile(rf"\[secret:({NAME.pattern})\]")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]")


def placeholder(name: str) -> str:
    return f"[secret:{_OTHER.sub('_', name)}]"


def names_in(value: Any) -> set[str]:
    """The names of all placeholders in a JSON value."""
    if isinstance(value, str):
        return set(_PLACEHOLDER.findall(value))
    if isinstance(value, dict):
        return set().union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()
