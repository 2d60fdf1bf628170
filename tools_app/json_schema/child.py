"""The check of a value against a schema, in a child process: patterns and references of strangers can run forever."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry

from tools_app.json_schema.coercion import DEEPEST, coerced, depth, loads

MOST_FAULTS = 5
LONGEST_FAULT = 300  # characters


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """Return the value that fits, or a sentence for each fault: {"schema", "value", "name", "coerce"} → {"value",
    "faults"}.

    With "coerce", texts inside the value can spell numbers and the like. Without it, only the entire value can be a
    text.
    """
    try:
        return _checked(request["schema"], request["value"], request["name"], coerce=request["coerce"])
    except RecursionError:  # also for a reference to itself
        return {"faults": [_too_deep(request["name"])]}
    except BaseException as error:  # rpds reports the same recursion as a panic of pyo3, which is not an Exception
        if type(error).__name__ != "PanicException":
            raise
        return {"faults": [_too_deep(request["name"])]}


def _checked(schema: Any, value: Any, name: str, *, coerce: bool) -> dict[str, Any]:
    validator = _validator(schema)
    readings = [coerced(value, schema), value] if coerce else list(_as_json(value))
    for reading in readings:
        if depth(reading) <= DEEPEST and validator.is_valid(reading):
            return {"value": reading, "faults": []}
    return {"faults": _faults(validator, readings[0 if coerce else -1], name) or [_too_deep(name)]}


def _validator(schema: Any) -> Validator:
    """Return a validator with an empty registry: references stay inside the schema, and nothing is ever fetched."""
    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def _faults(validator: Validator, value: Any, name: str) -> list[str]:
    """Return the first few faults of the value called `name`, a sentence each."""
    deepest = (best_match([error]) for error in islice(validator.iter_errors(value), MOST_FAULTS))
    return [f"{each.json_path.replace('$', name, 1)}: {each.message[:LONGEST_FAULT]}" for each in deepest if each]


def _as_json(value: Any) -> Iterator[Any]:
    """Yield the value and, if it is a text, the JSON in it: some models, and all calls in tags, write texts."""
    yield value
    if isinstance(value, str):
        try:
            yield loads(value)
        except ValueError:
            return


def _too_deep(name: str) -> str:
    return f"{name}: nested too deeply, or its schema is"
