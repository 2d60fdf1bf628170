"""Coercion of values to a JSON Schema, and their validation.

Coercion guesses nothing: a text that spells a number becomes that number, but True is not 1, and "1_000" is not a
number. A value that does not fit is unchanged, and validation reports it.

`answer` runs in a child process if the schema is not simple: the patterns and references of strangers can run forever.
jsonschema is imported on demand, since it takes 0.1 s.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

MAX_DEPTH = 100  # levels that a value can have: pydantic accepts 255, and validators recurse once for each
_MAX_FAULTS = 5
_MAX_FAULT_LENGTH = 300  # characters
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_INDEX = re.compile(r"0|[1-9]\d{0,5}", re.ASCII)
_COMBINING_KEYWORDS = frozenset(["$ref", "allOf", "anyOf", "oneOf"])
_BOOLEANS = {"true": True, "false": False}
_PYTHON_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


# The most frequent types of values. They need no further check.
_SCALARS: Mapping[str, Sequence[type]] = {"string": [str], "boolean": [bool], "integer": [int], "number": [int, float]}
_NULLS = (None, "null")


def loads(text: str) -> Any:
    """Return the JSON value in `text`.

    Raises: ValueError, also for NaN, Infinity and 1e999; RecursionError.
    """
    return _decoder.decode(text)


def loads_multiline(text: str) -> Any:
    """Return the JSON value in `text`, whose strings may contain line breaks and other control characters.

    Raises: as `loads`.
    """
    return _multiline_decoder.decode(text)


def depth(value: Any) -> int:
    """Return the number of nested objects and lists, counted without recursion."""
    levels, items = 0, [value]
    while containers := [item for item in items if isinstance(item, dict | list)]:
        levels += 1
        items = [item for outer in containers for item in (outer.values() if isinstance(outer, dict) else outer)]
    return levels


def resolve_reference(reference: str, root: Any) -> Any:
    """Return the schema in `root` that a $ref names, such as "#/$defs/name" (RFC 6901), or None."""
    first, *names = unquote(reference).split("/")
    target = root if first == "#" else None
    for name in names:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(target, list):
            target = target[int(key)] if _INDEX.fullmatch(key) and int(key) < len(target) else None
        else:
            target = target.get(key) if isinstance(target, Mapping) else None
    return target if isinstance(target, Mapping | bool) else None


def coerce(value: Any, schema: Any, root: Any = None) -> Any:
    """Return `value` as the type that `schema` asks for if that is unambiguous, otherwise `value` itself.

    Raises: RecursionError.
    """
    if not isinstance(schema, Mapping):  # true and false do not constrain the type
        return value
    root = schema if root is None else root
    if type(value) in _SCALARS.get(str(schema.get("type")), ()) and _COMBINING_KEYWORDS.isdisjoint(schema):
        return value
    if not _COMBINING_KEYWORDS.isdisjoint(schema):
        value = _coerce_to_subschemas(value, schema, root)
    return _coerce_to_type(value, schema, root)


def _coerce_to_subschemas(value: Any, schema: Mapping[str, Any], root: Any) -> Any:
    """Coerce to the schemas that this schema refers to or combines."""
    if isinstance(reference := schema.get("$ref"), str):
        value = coerce(value, resolve_reference(reference, root), root)
    for part in _list(schema, "allOf"):
        value = coerce(value, part, root)
    if options := _list(schema, "anyOf") or _list(schema, "oneOf"):
        value = _coerce_to_option(value, options, root)
    return value


def _coerce_to_option(value: Any, options: Sequence[Any], root: Any) -> Any:
    """Coerce to the first option that the value already fits, or else to the first that it can be coerce to."""
    for option in options:
        if _fits(value, option, root):
            return coerce(value, option, root)
    for option in options:
        if _fits(candidate := coerce(value, option, root), option, root):
            return candidate
    return value


def _fits(value: Any, schema: Any, root: Any) -> bool:
    """Return whether the value fits the schema, without checking its members."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if isinstance(reference := schema.get("$ref"), str):
        return _fits(value, resolve_reference(reference, root), root)
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in _list(schema, "enum")):
        return False
    if options := _list(schema, "anyOf") or _list(schema, "oneOf"):
        return any(_fits(value, option, root) for option in options)
    types = _types_of(schema)
    return not types or any(_has_type(value, name) for name in types)


def _coerce_to_type(value: Any, schema: Mapping[str, Any], root: Any) -> Any:
    types = _types_of(schema)
    if not types or any(_has_type(value, name) for name in types):
        return _coerce_members(value, schema, root)
    for name in types:
        if _has_type(candidate := _convert(value, name), name):
            return _coerce_members(candidate, schema, root)
    return value


def _types_of(schema: Mapping[str, Any]) -> list[str]:
    declared = schema.get("type")
    types = declared if isinstance(declared, list) else [declared]
    return [name for name in types if str(name) in _PYTHON_TYPES]


def _has_type(value: Any, type_name: str) -> bool:
    if isinstance(value, bool) and type_name != "boolean":
        return False
    return isinstance(value, _PYTHON_TYPES[type_name])


def _convert(value: Any, type_name: str) -> Any:
    match type_name:
        case "object" | "array":
            return _from_json_text(value)
        case "integer":
            return _to_integer(value)
        case "number":
            return _to_number(value)
        case "boolean":
            return _BOOLEANS.get(value.strip().lower(), value) if isinstance(value, str) else value
        case "null":
            return None if value == "null" else value
    return value


def _coerce_members(value: Any, schema: Mapping[str, Any], root: Any) -> Any:
    """Coerce the members of an object or the items of a list."""
    if isinstance(value, dict):
        properties = _mapping(schema, "properties")
        other = None if "patternProperties" in schema else schema.get("additionalProperties")
        return {
            name: coerce(item, properties.get(name, other), root)
            for name, item in value.items()
            if item not in _NULLS or not _is_left_out(name, item, schema, root)
        }
    if isinstance(value, list):
        first = _list(schema, "prefixItems") or _list(schema, "items")
        other = schema.get("items")
        return [coerce(item, first[index] if index < len(first) else other, root) for index, item in enumerate(value)]
    return value


def _is_left_out(name: str, item: Any, schema: Mapping[str, Any], root: Any) -> bool:
    """Return whether a null means that an optional member is left out.

    Models that have to name every member write null for absent ones.
    """
    if item not in _NULLS or name in _list(schema, "required"):
        return False
    member_schema = _mapping(schema, "properties").get(name, True)
    return not (_fits(item, member_schema, root) or _fits(None, member_schema, root))


def _from_json_text(value: Any) -> Any:
    """Return the object or list that was sent as JSON text."""
    try:
        return loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _to_integer(value: Any) -> Any:
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def _to_number(value: Any) -> Any:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value)
        return number if math.isfinite(number) else value
    return value


def _list(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return the list at `key`, or (). A reference can lead to any value, not only to a schema."""
    value = schema.get(key)
    return value if isinstance(value, list) else ()


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text[:20])


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_multiline_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, strict=False)


# --- validation ----------------------------------------------------------------------------------------------------


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return the value that fits, or a sentence for each fault.

    {"schema", "value", "name", "coerce"} → {"value", "faults"}

    With "coerce", texts inside the value can spell numbers and the like. Without it, only the entire value can be a
    text.
    """
    name = request["name"]
    too_deep = {"faults": [f"{name}: nested too deeply, or its schema is"]}
    try:
        return _check(request["schema"], request["value"], name, coerces=request["coerce"]) or too_deep
    except RecursionError:  # also for a reference to itself
        return too_deep
    except BaseException as error:  # rpds reports the same recursion as a panic of pyo3, which is not an Exception
        if type(error).__name__ != "PanicException":
            raise
        return too_deep


def _check(schema: Any, value: Any, name: str, *, coerces: bool) -> dict[str, Any] | None:
    """Return the answer, or None if the value is nested too deeply to have faults."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    # With an empty registry, references stay inside the schema, and nothing is ever fetched.
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())
    candidates = [coerce(value, schema), value] if coerces else list(_parsed_forms(value))
    for candidate in candidates:
        if depth(candidate) <= MAX_DEPTH and validator.is_valid(candidate):
            return {"value": candidate, "faults": []}
    errors = islice(validator.iter_errors(candidates[0 if coerces else -1]), _MAX_FAULTS)
    deepest_errors = filter(None, (best_match([error]) for error in errors))
    faults = [
        f"{error.json_path.replace('$', name, 1)}: {error.message[:_MAX_FAULT_LENGTH]}" for error in deepest_errors
    ]
    return {"faults": faults} if faults else None


def _parsed_forms(value: Any) -> Iterator[Any]:
    """Yield the value and, if it is a text, the JSON in it: some models, and all calls in tags, write texts."""
    yield value
    if isinstance(value, str):
        try:
            yield loads(value)
        except ValueError:
            return
