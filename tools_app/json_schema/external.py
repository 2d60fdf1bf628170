"""JSON Schemas from outside: people's schemas for results, and MCP servers' schemas for arguments."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.errors import InvalidArguments, InvalidSchema
from tools_app.json_schema.validation import resolve_reference

MAX_LENGTH = 64 * 1024  # characters of JSON: all of it is in every request
MAX_VALUES = 4_000  # the metaschema checks each of them, which takes up to a millisecond
MAX_COMPARISONS = 100_000  # of the items of unsortable lists, such as an enum of objects: each with each other
# lists whose items may be equal
_UNCOMPARED_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items", "examples", "default")
MAX_DEPTH = 60  # levels: some validator or provider cannot process deeper ones
_ROOT_REMARKS = ("$id", "$comment")  # at the root only: remarks of the program that wrote the schema
_DATA = "data"  # the argument of the tool `message`
_DEFINITIONS = ("$defs", "definitions")
_LIMITS = ChildLimits(wall_s=20, cpu_s=10)
_REFUSED = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


def schema_text(schema: Any) -> str:
    """Return the schema as JSON text.

    Raises: InvalidSchema, with the reason, for a schema that cannot be checked or shown.
    """
    if not isinstance(schema, dict):
        raise InvalidSchema("It must be a JSON Schema, which is an object.")
    try:
        return _checked_text(schema)
    except RecursionError as error:
        raise InvalidSchema("It is nested too deeply.") from error


def _checked_text(schema: dict[str, Any]) -> str:
    schema = {name: value for name, value in schema.items() if name not in _ROOT_REMARKS}
    text = json.dumps(schema, ensure_ascii=False)
    if len(text) > MAX_LENGTH:
        raise InvalidSchema(f"It is longer than {MAX_LENGTH // 1024} KiB.")
    if _depth(schema) > MAX_DEPTH:
        raise InvalidSchema(f"It is nested more than {MAX_DEPTH} levels deep.")
    if _count_values(schema) > MAX_VALUES:
        raise InvalidSchema(f"It has more than {MAX_VALUES} values.")
    if sum(map(_count_comparisons, _nested_objects(schema))) > MAX_COMPARISONS:
        raise InvalidSchema("An enum in it has too many objects, or too many items of different kinds.")
    _check_against_metaschema(schema)
    for part in _nested_objects(schema):
        _check_references(part, schema)
    return text


def _check_against_metaschema(schema: dict[str, Any]) -> None:
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
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, _items(value)), default=0)


def _count_values(value: Any) -> int:
    return 1 + sum(map(_count_values, _items(value)))


def _items(value: Any) -> Iterable[Any]:
    """Return the values of an object or the items of a list, or ()."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _count_comparisons(part: dict[str, Any]) -> int:
    lists = (value for name, value in part.items() if isinstance(value, list) and name not in _UNCOMPARED_LISTS)
    return sum(len(items) ** 2 for items in lists if not _are_sortable(items))


def _are_sortable(items: list[Any]) -> bool:
    return all(isinstance(item, str) for item in items) or all(isinstance(item, (int, float)) for item in items)


def _nested_objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in _items(value):
        yield from _nested_objects(item)


def _check_references(part: dict[str, Any], root: dict[str, Any]) -> None:
    """Check that references stay inside the schema: nothing is ever fetched."""
    for name in _REFUSED:
        if isinstance(part.get(name), str):
            raise InvalidSchema(f"{name} is not supported in it; use $ref to a place in the schema itself.")
    reference = part.get("$ref")
    if isinstance(reference, str) and resolve_reference(reference, root) is None:
        raise InvalidSchema(f"Its reference {reference[:200]!r} leads to no place in the schema itself.")


# --- results -------------------------------------------------------------------------------------------------------


def with_data(parameters: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """Return `parameters` (of type object) with a required argument `data` that fits `schema` or is null.

    It is required because providers that constrain replies enforce only required arguments. Shared definitions move to
    the root, where all converters look for them.
    """
    data_schema = json.loads(schema)
    data_schema.pop("$schema", None)
    shared = {name: item for key in _DEFINITIONS for name, item in data_schema.pop(key, {}).items()}
    relocated = partial(_relocated, shared=shared)
    description = "For result: the data that the person's program asked for. For info and ask: null."
    data = {"description": description, "anyOf": [relocated(data_schema), {"type": "null"}]}
    definitions = {**parameters.get("$defs", {}), **{name: relocated(item) for name, item in shared.items()}}
    return {
        **parameters,
        "properties": {**parameters["properties"], _DATA: data},
        "required": [*parameters.get("required", ()), _DATA],
        **({"$defs": definitions} if definitions else {}),
    }


def _relocated(value: Any, *, shared: Mapping[str, Any]) -> Any:
    """Return the value with its references updated to the new locations."""
    if isinstance(value, list):
        return [_relocated(item, shared=shared) for item in value]
    if not isinstance(value, dict):
        return value
    out = {name: _relocated(item, shared=shared) for name, item in value.items()}
    if isinstance(reference := out.get("$ref"), str):
        out["$ref"] = _relocated_reference(reference, shared)
    return out


def _relocated_reference(reference: str, shared: Mapping[str, Any]) -> str:
    for key in _DEFINITIONS:
        name, *deeper = reference.removeprefix(f"#/{key}/").split("/")
        if reference.startswith(f"#/{key}/") and name in shared:
            return "/".join([f"#/$defs/{name}", *deeper])
    return f"#/properties/{_DATA}/anyOf/0{reference.removeprefix('#')}"


async def fitted_data(data: Any, schema: str) -> Any:
    """Return `data`, coerced to the schema.

    Raises: InvalidArguments, with the faults for the model.
    """
    request = {"schema": json.loads(schema), "value": data, "name": "data", "coerce": False}
    try:
        answer = await answer_of("tools_app.json_schema.validation", request, limits=_LIMITS)
    except NoAnswer as error:
        raise InvalidArguments("data could not be checked against its schema in time.") from error
    if answer["faults"]:
        raise InvalidArguments("; ".join(answer["faults"]))
    return answer["value"]
