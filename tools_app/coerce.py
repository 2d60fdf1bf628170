"""Arguments as a model wrote them → arguments as the tool's schema means them.

Strict about meaning: a text that says a number becomes that number, but nothing is guessed. True is not 1, "1_000"
is no number, NaN is no value. What does not fit stays as it is; the validation that follows then says so.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tools_app.base import Arguments, ToolDefinition
from tools_app.errors import InvalidArguments

_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_WORDS = {"true": True, "false": False}


def read(definition: ToolDefinition, text: str) -> Arguments:
    """The arguments of a call, parsed, coerced and valid. Raises InvalidArguments with a sentence for the model."""
    given = parse(text)
    try:
        return validate(definition, coerce(given, definition.parameters))
    except RecursionError as error:  # a schema of strangers may refer to itself
        raise InvalidArguments(f"The arguments of {definition.name} are nested too deeply.") from error


def parse(text: str) -> dict[str, Any]:
    """The JSON object in `text`. Raises InvalidArguments for anything else, above all for JSON that was cut off."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text: it cannot be encoded
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(f"The arguments are not valid JSON ({error}). Send the whole call again.") from error
    if not isinstance(value, dict):
        raise InvalidArguments(f"The arguments must be a JSON object, not {_kind(value)}.")
    return value


def validate(definition: ToolDefinition, value: Mapping[str, Any]) -> Arguments:
    try:
        return definition.arguments.model_validate(value, strict=True)
    except ValidationError as error:
        faults = "; ".join(_fault(item) for item in error.errors()[:5])
        raise InvalidArguments(f"Invalid arguments for {definition.name}: {faults}.") from error


def coerce(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """`value` as `schema` (a JSON Schema) means it, where that is beyond doubt; otherwise `value` itself."""
    root = root or schema
    if reference := schema.get("$ref"):
        return coerce(value, _referred(reference, root), root)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return _any_of(value, options, root)
    match schema.get("type"):
        case "object":
            return _object(value, schema, root)
        case "array":
            return _array(value, schema, root)
        case "integer":
            return _integer(value)
        case "number":
            return _number(value)
        case "boolean":
            return _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        case "null":
            return None if value == "null" else value
    return value


def _referred(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The place in the schema that a reference leads to; one that leads nowhere says nothing."""
    place: Any = root
    for name in reference.split("/")[1:]:
        place = place.get(name) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping) else {}


def _any_of(value: Any, options: list[Mapping[str, Any]], root: Mapping[str, Any]) -> Any:
    """The first option that `value` fits as it is, then the first that it can be coerced to."""
    if any(_fits(value, option, root) for option in options):
        option = next(option for option in options if _fits(value, option, root))
        return coerce(value, option, root)
    for option in options:
        candidate = coerce(value, option, root)
        if _fits(candidate, option, root):
            return candidate
    return value


def _fits(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    if reference := schema.get("$ref"):
        return _fits(value, _referred(reference, root), root)
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "boolean": bool,
        "null": type(None),
    }
    match schema.get("type"):
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case str(kind):
            return isinstance(value, kinds[kind])
    return True


def _object(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    value = _embedded(value, dict)
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties")
    other: Mapping[str, Any] = extra if isinstance(extra, dict) else {}
    return {name: coerce(item, properties.get(name, other), root) for name, item in value.items()}


def _array(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    value = _embedded(value, list)
    if not isinstance(value, list):
        return value
    return [coerce(item, schema.get("items", {}), root) for item in value]


def _embedded(value: Any, kind: type) -> Any:
    """An object or a list that was sent as its JSON text."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, kind) else value


def _integer(value: Any) -> Any:
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _number(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value)
        return number if math.isfinite(number) else value
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", bool: "a boolean", type(None): "null"}.get(type(value), "a number")


def _fault(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"])
    message = str(item["msg"]).removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
