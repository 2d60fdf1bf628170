"""Coercion of values to a JSON Schema, where it is unambiguous. Child processes import it, so it needs no library.

Nothing is guessed: a text that spells a number becomes that number, but True is not 1, and "1_000" is not a number. A
value that does not fit is unchanged, and validation reports it.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

DEEPEST = 100  # levels that a value can have: pydantic accepts 255, and validators recurse once for each
_INTEGER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_INDEX = re.compile(r"0|[1-9]\d{0,5}", re.ASCII)
_COMPOSING = frozenset(["$ref", "allOf", "anyOf", "oneOf"])
_WORDS = {"true": True, "false": False}
_KINDS: Mapping[str, type | tuple[type, ...]] = {
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
_NOTHING = (None, "null")


def loads(text: str) -> Any:
    """Return the JSON value in `text`.

    Raises: ValueError, also for NaN, Infinity and 1e999; RecursionError.
    """
    return _decoder.decode(text)


def depth(value: Any) -> int:
    """Return the number of nested objects and lists, counted without recursion."""
    levels, here = 0, [value]
    while here := [item for item in here if isinstance(item, dict | list)]:
        levels += 1
        here = [item for outer in here for item in (outer.values() if isinstance(outer, dict) else outer)]
    return levels


def resolved(reference: str, root: Any) -> Any:
    """Return the schema in `root` that a $ref names, such as "#/$defs/name" (RFC 6901), or None."""
    first, *names = unquote(reference).split("/")
    place = root if first == "#" else None
    for name in names:
        key = name.replace("~1", "/").replace("~0", "~")
        if isinstance(place, list):
            place = place[int(key)] if _INDEX.fullmatch(key) and int(key) < len(place) else None
        else:
            place = place.get(key) if isinstance(place, Mapping) else None
    return place if isinstance(place, Mapping | bool) else None


def coerced(value: Any, schema: Any, root: Any = None) -> Any:
    """Return `value` as the type that `schema` asks for if that is unambiguous, otherwise `value` itself.

    Raises: RecursionError.
    """
    if not isinstance(schema, Mapping):  # true and false do not constrain the type
        return value
    root = schema if root is None else root
    if type(value) in _SCALARS.get(str(schema.get("type")), ()) and _COMPOSING.isdisjoint(schema):
        return value
    if not _COMPOSING.isdisjoint(schema):
        value = _by_parts(value, schema, root)
    return _by_type(value, schema, root)


def _by_parts(value: Any, schema: Mapping[str, Any], root: Any) -> Any:
    """Coerce to the schemas that this schema refers to or combines."""
    if isinstance(reference := schema.get("$ref"), str):
        value = coerced(value, resolved(reference, root), root)
    for part in _list(schema, "allOf"):
        value = coerced(value, part, root)
    if options := _list(schema, "anyOf") or _list(schema, "oneOf"):
        value = _by_option(value, options, root)
    return value


def _by_option(value: Any, options: Sequence[Any], root: Any) -> Any:
    """Coerce to the first option that the value already fits, or else to the first that it can be coerced to."""
    for option in options:
        if _fits(value, option, root):
            return coerced(value, option, root)
    for option in options:
        if _fits(candidate := coerced(value, option, root), option, root):
            return candidate
    return value


def _fits(value: Any, schema: Any, root: Any) -> bool:
    """Return whether the value fits the schema, without checking its members."""
    if not isinstance(schema, Mapping):
        return schema is not False
    if isinstance(reference := schema.get("$ref"), str):
        return _fits(value, resolved(reference, root), root)
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in _list(schema, "enum")):
        return False
    if options := _list(schema, "anyOf") or _list(schema, "oneOf"):
        return any(_fits(value, option, root) for option in options)
    kinds = _kinds(schema)
    return not kinds or any(_is_of(value, kind) for kind in kinds)


def _by_type(value: Any, schema: Mapping[str, Any], root: Any) -> Any:
    kinds = _kinds(schema)
    if not kinds or any(_is_of(value, kind) for kind in kinds):
        return _members(value, schema, root)
    for kind in kinds:
        if _is_of(candidate := _as_kind(value, kind), kind):
            return _members(candidate, schema, root)
    return value


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema.get("type")
    return [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if str(kind) in _KINDS]


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "boolean":
        return False
    return isinstance(value, _KINDS[kind])


def _as_kind(value: Any, kind: str) -> Any:
    match kind:
        case "object" | "array":
            return _embedded(value)
        case "integer":
            return _integer(value)
        case "number":
            return _number(value)
        case "boolean":
            return _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        case "null":
            return None if value == "null" else value
    return value


def _members(value: Any, schema: Mapping[str, Any], root: Any) -> Any:
    """Coerce the members of an object or the items of a list."""
    if isinstance(value, dict):
        properties = _mapping(schema, "properties")
        other = None if "patternProperties" in schema else schema.get("additionalProperties")
        given = {n: it for n, it in value.items() if it not in _NOTHING or not _is_left_out(n, it, schema, root)}
        return {name: coerced(item, properties.get(name, other), root) for name, item in given.items()}
    if isinstance(value, list):
        first = _list(schema, "prefixItems") or _list(schema, "items")
        other = schema.get("items")
        return [coerced(item, first[n] if n < len(first) else other, root) for n, item in enumerate(value)]
    return value


def _is_left_out(name: str, item: Any, schema: Mapping[str, Any], root: Any) -> bool:
    """Return whether a null means that an optional member is left out.

    Models that have to name every member write null for absent ones.
    """
    if item not in _NOTHING or name in _list(schema, "required"):
        return False
    own = _mapping(schema, "properties").get(name, True)
    return not (_fits(item, own, root) or _fits(None, own, root))


def _embedded(value: Any) -> Any:
    """Return the object or list that was sent as JSON text."""
    try:
        return loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


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


def _list(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return the list at `key`, or (). A reference can lead to any value, not only to a schema."""
    value = schema.get(key)
    return value if isinstance(value, list) else ()


def _mapping(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _not_finite(text[:20])


def _not_finite(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


_decoder = json.JSONDecoder(parse_constant=_not_finite, parse_float=_finite)
