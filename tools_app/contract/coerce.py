"""Parses, coerces and validates the arguments that a model wrote."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tools_app.contract.base import Arguments, ToolDefinition
from tools_app.errors import InvalidArguments
from tools_app.json_schema.coercion import DEEPEST, coerced, depth, loads


def read_arguments(definition: ToolDefinition, text: str) -> Arguments:
    """The arguments of a call, parsed, coerced and valid. Raises InvalidArguments with a sentence for the model.

    Those of a tool with a schema of its own are only parsed: `mcp.checking` follows what strangers wrote.
    """
    given = definition.plain_root.restored(parse(text))
    return validate(definition, given if definition.own_schema else coerced(given, definition.parameters))


def parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`. Raises InvalidArguments for anything else, above all for JSON that was cut off."""
    try:
        value = loads(text)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair cannot be encoded
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not valid JSON ({error}). Send the whole call again.") from error
    if not isinstance(value, dict):
        raise InvalidArguments(f"The arguments must be a JSON object, not {_kind(value)}.")
    if text.count("[") + text.count("{") > DEEPEST and depth(value) > DEEPEST:
        raise InvalidArguments(f"The arguments are nested more than {DEEPEST} levels deep.")
    return value


def validate(definition: ToolDefinition, value: Mapping[str, Any]) -> Arguments:
    try:
        return definition.arguments.model_validate(value, strict=True)
    except ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors()[:5])
        raise InvalidArguments(f"Invalid arguments for {definition.name}: {faults}.") from error


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _fault(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"])
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
