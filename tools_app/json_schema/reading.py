"""Checks of JSON Schemas from outside: people's schemas for results, and MCP servers' schemas for arguments."""

import json
from collections.abc import Iterator
from typing import Any

from tools_app.errors import InvalidSchema
from tools_app.json_schema.coercion import resolved

LONGEST = 64 * 1024  # characters of JSON: all of it is in every request
MOST_VALUES = 4_000  # the metaschema checks each of them, which takes up to a millisecond
MOST_COMPARISONS = 100_000  # of the items of unsortable lists, such as an enum of objects: each with each other
_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems", "items", "examples", "default")  # lists whose items may be equal
DEEPEST = 60  # levels: some validator or provider cannot process deeper ones
_ABOUT_ITSELF = ("$id", "$comment")  # at the root only: remarks of the program that wrote the schema
_REFUSED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


def schema_text(schema: Any) -> str:
    """Return the schema as JSON text.

    Raises: InvalidSchema, with the reason, for a schema that cannot be checked or shown.
    """
    if not isinstance(schema, dict):
        raise InvalidSchema("It must be a JSON Schema, which is an object.")
    try:
        return _read(schema)
    except RecursionError as error:
        raise InvalidSchema("It is nested too deeply.") from error


def _read(schema: dict[str, Any]) -> str:
    schema = {name: value for name, value in schema.items() if name not in _ABOUT_ITSELF}
    text = json.dumps(schema, ensure_ascii=False)
    if len(text) > LONGEST:
        raise InvalidSchema(f"It is longer than {LONGEST // 1024} KiB.")
    if _depth(schema) > DEEPEST:
        raise InvalidSchema(f"It is nested more than {DEEPEST} levels deep.")
    if _values(schema) > MOST_VALUES:
        raise InvalidSchema(f"It has more than {MOST_VALUES} values.")
    if sum(map(_comparisons, _objects(schema))) > MOST_COMPARISONS:
        raise InvalidSchema("An enum in it has too many objects, or too many items of different kinds.")
    _check_by_its_own_schema(schema)
    for part in _objects(schema):
        _check_references(part, schema)
    return text


def _check_by_its_own_schema(schema: dict[str, Any]) -> None:
    from jsonschema import SchemaError
    from jsonschema.validators import Draft3Validator, Draft202012Validator, validator_for

    validator = validator_for(schema, default=Draft202012Validator)
    if validator is Draft3Validator:  # its `required` and `type` have another meaning, also for providers
        raise InvalidSchema("Draft 3 of JSON Schema is too old. Write it in draft 2020-12.")
    try:
        validator.check_schema(schema)
    except SchemaError as error:
        raise InvalidSchema(f"It is no JSON Schema: {error.json_path}: {error.message[:200]}.") from error


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _values(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_values, inner))


def _comparisons(part: dict[str, Any]) -> int:
    lists = (value for name, value in part.items() if isinstance(value, list) and name not in _SCHEMAS)
    return sum(len(items) ** 2 for items in lists if not _are_sortable(items))


def _are_sortable(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items) or all(isinstance(item, (int, float)) for item in items)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner)


def _check_references(part: dict[str, Any], root: dict[str, Any]) -> None:
    """Check that references stay inside the schema: nothing is ever fetched."""
    for name in _REFUSED:
        if isinstance(part.get(name), str):
            raise InvalidSchema(f"{name} is not supported in it; use $ref to a place in the schema itself.")
    reference = part.get("$ref")
    if isinstance(reference, str) and resolved(reference, root) is None:
        raise InvalidSchema(f"Its reference {reference[:200]!r} leads to no place in the schema itself.")
