"""Checks data against a schema. Runs in a child process: patterns and references of strangers may compute for ever."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from jsonschema import Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry

MOST_FAULTS = 5
LONGEST_FAULT = 300  # characters


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """{"data": what fits} or {"faults": sentences}."""
    schema, data = request["schema"], request["data"]
    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())
    for candidate in _readings(data):
        if validator.is_valid(candidate):
            return {"data": candidate, "faults": []}
    return {"faults": list(islice(_faults(validator, data), MOST_FAULTS))}


def _readings(data: Any) -> Iterator[Any]:
    """As it is; and, of a text, the JSON in it: some models, and all calls in tags, write values as texts."""
    yield data
    if isinstance(data, str):
        try:
            yield json.loads(data)
        except ValueError:
            return


def _faults(validator: Validator, data: Any) -> Iterator[str]:
    readings = list(_readings(data))
    for error in validator.iter_errors(readings[-1]):
        deepest = best_match([error])
        yield f"{deepest.json_path.replace('$', 'data', 1)}: {deepest.message[:LONGEST_FAULT]}"
