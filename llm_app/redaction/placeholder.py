"""What stands in the place of a secret: its name, in a form that no JSON, URL or Markdown disturbs."""

import re
from collections.abc import Mapping
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


def restored(value: Any, secrets: Mapping[str, str]) -> Any:
    """A JSON value with the secrets, by name, in the place of their placeholders; an unknown placeholder stays.

    Only for the arguments of a tool, at the moment it runs: what comes out is never stored, shown or logged.
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: secrets.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {name: restored(item, secrets) for name, item in value.items()}
    return [restored(item, secrets) for item in value] if isinstance(value, list) else value
