"""A person's schema inside of the schema of a tool's arguments, as a model sees it."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

_DATA = "data"
_SHARED = ("$defs", "definitions")


def with_data(parameters: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """`parameters` (of type object) with an argument `data` that fits `schema`, or is null where there is no result.

    Every call has it, for only then can a provider that constrains replies be made to give it. Shared definitions go
    to the root, where all converters look for them.
    """
    own = json.loads(schema)
    own.pop("$schema", None)
    shared = {name: item for key in _SHARED for name, item in own.pop(key, {}).items()}
    moved = partial(_moved, shared=shared)
    description = "For result: the data that the person's program asked for. For info and ask: null."
    data = {"description": description, "anyOf": [moved(own), {"type": "null"}]}
    definitions = {**parameters.get("$defs", {}), **{name: moved(item) for name, item in shared.items()}}
    return {
        **parameters,
        "properties": {**parameters["properties"], _DATA: data},
        "required": [*parameters.get("required", ()), _DATA],
        **({"$defs": definitions} if definitions else {}),
    }


def _moved(value: Any, *, shared: Mapping[str, Any]) -> Any:
    """The same with references to where things stand now."""
    if isinstance(value, list):
        return [_moved(item, shared=shared) for item in value]
    if not isinstance(value, dict):
        return value
    inner = {name: _moved(item, shared=shared) for name, item in value.items()}
    reference = inner.get("$ref")
    return inner | {"$ref": _new_place(reference, shared)} if isinstance(reference, str) else inner


def _new_place(reference: str, shared: Mapping[str, Any]) -> str:
    for key in _SHARED:
        name, *deeper = reference.removeprefix(f"#/{key}/").split("/")
        if reference.startswith(f"#/{key}/") and name in shared:
            return "/".join([f"#/$defs/{name}", *deeper])
    return f"#/properties/{_DATA}/anyOf/0{reference.removeprefix('#')}"
