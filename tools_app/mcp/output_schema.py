"""The check of a result against the tool's output schema. A result that misses it is delivered, with a note."""

from collections.abc import Mapping
from typing import Any

_MAX_FAULT = 200  # characters


def faults_of(result: Mapping[str, Any], schema: Any) -> list[str]:
    """Return a note if the structured content does not fit the schema, else []. Errors are not checked."""
    if not isinstance(schema, dict) or result.get("isError"):
        return []
    if "structuredContent" not in result:
        return ["[The server announces structured data for this tool, and sent none.]"]
    from jsonschema import exceptions, validators
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        kind.check_schema(schema)
        fault = exceptions.best_match(kind(schema, registry=Registry()).iter_errors(result["structuredContent"]))
    except (exceptions.SchemaError, Unresolvable, RecursionError):
        return []  # the schema cannot be used, so nothing is known about the result
    if fault is None:
        return []
    words = f"{fault.json_path}: {fault.message}"[:_MAX_FAULT]
    return [f"[The structured data of this result do not fit the schema of the tool ({words}).]"]
