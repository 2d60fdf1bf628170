"""The check of a call's arguments against the server's schema. Arguments that do not fit are never sent."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from tools_app.child_process.parent import ChildLimits, NoAnswer, answer_of
from tools_app.contract import Arguments, ToolDefinition, base
from tools_app.errors import InvalidArguments
from tools_app.json_schema import validation

_LIMITS = ChildLimits(wall_s=20, cpu_s=10)
# Keywords whose check takes time linear in the size of schema times arguments. Patterns and references are not linear.
# fmt: off
_LINEAR_KEYWORDS = frozenset({
    "$comment", "$defs", "$schema", "additionalProperties", "allOf", "anyOf", "const", "default", "definitions",
    "deprecated", "description", "enum", "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "items",
    "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum",
    "not", "oneOf", "prefixItems", "properties", "readOnly", "required", "title", "type", "writeOnly",
})
# fmt: on
_NAMED = ("$defs", "definitions", "properties")
_MAX_WORK = 10**6  # characters of the schema times characters of the arguments: usually 0.1 ms, at worst 2 s


def fitted_arguments(
    definition: ToolDefinition, parsed: Arguments, run: Callable[[Coroutine[Any, Any, dict[str, Any]]], dict[str, Any]]
) -> Arguments:
    """Return the parsed arguments, coerced to the tool's schema.

    `run` waits for the check in a child process, which takes 0.2 s.

    Raises: InvalidArguments, with the faults for the model.
    """
    schema, arguments = definition.parameters, parsed.model_dump(mode="json")
    request = {"schema": schema, "value": arguments, "name": "arguments", "coerce": True}
    is_cheap = len(definition.own_schema) * len(str(arguments)) <= _MAX_WORK and _LINEAR_KEYWORDS.issuperset(
        _keywords(schema)
    )
    answer = validation.answer(request, b"") if is_cheap else run(_answer_of_child(request))
    if faults := answer["faults"]:
        raise InvalidArguments(f"Invalid arguments for {definition.name}: {'; '.join(faults)}.")
    return base.validate(definition, answer["value"])


def _keywords(schema: Any) -> Iterator[str]:
    """Yield all possible keywords, without the names of properties and definitions."""
    if isinstance(schema, list):
        for item in schema:
            yield from _keywords(item)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        yield keyword
        for inner in value.values() if keyword in _NAMED and isinstance(value, dict) else [value]:
            yield from _keywords(inner)


async def _answer_of_child(request: dict[str, Any]) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await answer_of("tools_app.json_schema.validation", request, limits=_LIMITS)
    except NoAnswer:
        return {"faults": ["they could not be checked against the server's schema in time"]}
    return answer
