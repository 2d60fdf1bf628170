"""The schema for a task's result, which is shown to the model as an argument and checked at the end."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.errors import InvalidArguments

_DATA = "data"
_SHARED = ("$defs", "definitions")

_LIMITS = ChildLimits(wall_s=20, cpu_s=10)


def with_data(parameters: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """Return `parameters` (of type object) with a required argument `data` that fits `schema` or is null.

    It is required because providers that constrain replies enforce only required arguments. Shared definitions move to
    the root, where all converters look for them.
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
    """Return the value with its references updated to the new locations."""
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


async def fitted_data(data: Any, schema: str) -> Any:
    """Return `data`, coerced to the schema.

    Raises: InvalidArguments, with the faults for the model.
    """
    request = {"schema": json.loads(schema), "value": data, "name": "data", "coerce": False}
    try:
        answer = await answer_of("tools_app.json_schema.child", request, limits=_LIMITS)
    except NoAnswer as error:
        raise InvalidArguments("data could not be checked against its schema in time.") from error
    if answer["faults"]:
        raise InvalidArguments("; ".join(answer["faults"]))
    return answer["value"]
