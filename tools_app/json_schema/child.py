"""Checks data against a schema. Runs in a child process: patterns and references of strangers may compute for ever."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry

from tools_app.json_schema.coercion import loads

MOST_FAULTS = 5
LONGEST_FAULT = 300  # characters


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """{"data": what fits} or {"faults": sentences}."""
    schema, data = request["schema"], request["data"]
    validator = validator_of(schema)
    readings = list(_readings(data))
    for candidate in readings:
        if validator.is_valid(candidate):
            return {"data": candidate, "faults": []}
    return {"faults": faults_of(validator, readings[-1], "data")}


def validator_of(schema: Any) -> Validator:
    """References lead to places in the schema itself: with an empty registry, nothing is ever fetched."""
    return validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())


def faults_of(validator: Validator, value: Any, name: str) -> list[str]:
    """What is wrong with a value that is called `name`: a sentence each, the first few."""
    deepest = (best_match([error]) for error in islice(validator.iter_errors(value), MOST_FAULTS))
    return [f"{each.json_path.replace('$', name, 1)}: {each.message[:LONGEST_FAULT]}" for each in deepest if each]


def _readings(data: Any) -> Iterator[Any]:
    """As it is; and, of a text, the JSON in it: some models, and all calls in tags, write values as texts."""
    yield data
    if isinstance(data, str):
        try:
            yield loads(data)
        except ValueError:
            return
