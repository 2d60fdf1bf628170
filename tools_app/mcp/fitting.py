"""Reads the arguments of a call by the schema that a server gave. Runs in a child process where that may take long."""

from typing import Any

from tools_app.json_schema.child import faults_of, validator_of
from tools_app.json_schema.coercion import DEEPEST, coerced, depth


def answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    """{"arguments": what fits the schema, coerced or as it was} or {"faults": sentences}."""
    try:
        return _answer(request["schema"], request["arguments"])
    except RecursionError:  # also of a reference that leads to itself
        return {"faults": ["they, or the schema of the tool, are nested too deeply"]}


def _answer(schema: Any, given: Any) -> dict[str, Any]:
    validator, meant = validator_of(schema), coerced(given, schema)
    for value in (meant, given):
        if depth(value) <= DEEPEST and validator.is_valid(value):
            return {"arguments": value, "faults": []}
    return {"faults": faults_of(validator, meant, "arguments")}
