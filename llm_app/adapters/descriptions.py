"""Descriptions of tools and arguments, cut for providers that limit their length."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llm_app.types import ToolSpec

_ENDS = (". ", "! ", "? ", ".\n", "\n")
_VALUES = frozenset({"const", "default", "enum", "examples", "required"})  # values of arguments, no schemas


def with_short_descriptions(tool: ToolSpec, limit: int) -> ToolSpec:
    """Return a tool whose descriptions have at most `limit` characters, including those of its arguments."""
    parameters = {name: _shortened(name, value, limit) for name, value in tool.parameters.items()}
    return replace(tool, description=cut_at_sentence(tool.description, limit), parameters=parameters)


def _shortened(name: str, value: Any, limit: int) -> Any:
    """Return the value of a schema's keyword `name`, with short descriptions."""
    if name == "description" and isinstance(value, str):
        return cut_at_sentence(value, limit)
    if isinstance(value, Mapping) and name not in _VALUES:
        return {key: _shortened(key, inner, limit) for key, inner in value.items()}
    if isinstance(value, list) and name not in _VALUES:
        return [_shortened("", inner, limit) for inner in value]
    return value


def cut_at_sentence(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, cut after a sentence if one ends in the second half."""
    if len(text) <= limit:
        return text
    beginning = text[: limit - 2]
    end = max(beginning.rfind(mark) + len(mark.rstrip()) for mark in _ENDS)
    if end <= limit // 2:
        end = max(beginning.rfind(" "), limit // 2)
    return f"{beginning[:end].rstrip()} …"
