"""OpenAI's rules for tools and schemas, in chat completions and in responses."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.contracts.contract import Refusal

NAME = re.compile(r"[a-zA-Z0-9_-]+")
_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
_NOT_STRICT = (
    "allOf",
    "not",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "oneOf",
    "patternProperties",
)


def bad_tool(tools: Sequence[Mapping[str, Any]], path: str = "tools[{}].function") -> Refusal | None:
    """Return the first fault in functions: at most 128, names, descriptions, schemas.

    Sources: platform.openai.com/docs/api-reference/chat/create (tools: "A max of 128 functions are supported", name:
    "a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64"); the words of its answers in
    github.com/Vortiago/mcp-azure-devops/pull/30 (names), github.com/nanbingxyz/5ire/issues/403 (their length),
    github.com/getsentry/sentry-mcp/issues/106 (descriptions).
    """
    if len(tools) > 128:
        words = f"Expected an array with maximum length 128, but got an array with length {len(tools)} instead."
        return _invalid("tools", f"array too long. {words}", "array_above_max_length")
    for number, function in enumerate(tools):
        place, name = path.format(number), function.get("name") or ""
        if not name:
            words = f"Missing required parameter: '{place}.name'."
            return Refusal(message=words, code="missing_required_parameter", param=f"{place}.name")
        if not NAME.fullmatch(name):
            words = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            return _invalid(f"{place}.name", words, "invalid_value")
        if refusal := too_long(f"{place}.name", name, 64):
            return refusal
        if refusal := too_long(f"{place}.description", function.get("description") or "", 1024):
            return refusal
        if why := next(_schema_faults(function.get("parameters"), is_strict=bool(function.get("strict"))), ""):
            words = f"Invalid schema for function '{name}': {why}"
            return Refusal(message=words, code="invalid_function_parameters", param=f"{place}.parameters")
    return None


def bad_reply_schema(named: Mapping[str, Any], param: str) -> Refusal | None:
    """Sources: platform.openai.com/docs/guides/structured-outputs ("Root objects must not be anyOf and must be an
    object"); github.com/prism-php/prism/issues/858."""
    name = named.get("name") or ""
    if not NAME.fullmatch(name) or len(name) > 64:
        return _invalid(f"{param}.name", "string does not match pattern.", "invalid_value")
    if why := next(_schema_faults(named.get("schema"), is_strict=bool(named.get("strict"))), ""):
        words = f"Invalid schema for response_format '{name}': {why}"
        return Refusal(message=words, param=param, code="invalid_json_schema")
    return None


def too_long(place: str, text: str, longest: int) -> Refusal | None:
    words = f"Expected a string with maximum length {longest}, but got a string with length {len(text)} instead."
    return _invalid(place, f"string too long. {words}", "string_above_max_length") if len(text) > longest else None


def unknown_parameter(body: Mapping[str, Any], known: frozenset[str], path: str = "") -> Refusal | None:
    if not (unknown := body.keys() - known):
        return None
    place = path + min(unknown)
    return Refusal(message=f"Unknown parameter: '{place}'.", param=place, code="unknown_parameter")


def _invalid(place: str, why: str, code: str) -> Refusal:
    return Refusal(message=f"Invalid '{place}': {why}", param=place, code=code)


def _schema_faults(schema: Any, *, is_strict: bool) -> Iterator[str]:
    """Sources: github.com/nspady/google-calendar-mcp/issues/39 (top level), github.com/ogx-ai/ogx/issues/3004 (items),
    github.com/Azure/azure-mcp/issues/197 (an object without properties)."""
    if schema is None:
        return
    if schema.get("type") != "object":
        yield f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{schema.get('type')}\"'."
    if any(key in schema for key in _AT_THE_TOP):
        what = "/".join(f"'{key}'" for key in _AT_THE_TOP)
        yield f"schema must have type 'object' and not have {what} at the top level."
    if "properties" not in schema:
        yield "In context=(), object schema missing properties."
    for context, part in _parts(schema, ()):
        if part.get("type") == "array" and "items" not in part and "prefixItems" not in part:
            yield f"In context={context}, array schema missing items."
    if is_strict:
        yield from _strict_faults(schema)


def _strict_faults(schema: Any) -> Iterator[str]:
    """Sources: platform.openai.com/docs/guides/structured-outputs, "Supported schemas"; github.com/dotnet/extensions/issues/6196
    (default), github.com/camel-ai/camel/issues/3001 ($ref)."""
    parts, names = list(_parts(schema, ())), 0
    for context, part in parts:
        where = f"In context={context}"
        if not {"type", "anyOf", "$ref", "enum", "const"} & part.keys():
            yield f"{where}, schema must have a 'type' key."
        if "$ref" in part and (beside := part.keys() - {"$ref"}):
            yield f"{where}, $ref cannot have keywords {set(beside)}."
        if unknown := next((key for key in _NOT_STRICT if key in part), ""):
            yield f"{where}, '{unknown}' is not permitted."
        if "default" in part:
            yield f"{where}, 'default' is not permitted."
        if part.get("type") == "object" or "object" in _listed(part.get("type")):
            if part.get("additionalProperties") is not False:
                yield f"{where}, 'additionalProperties' is required to be supplied and to be false."
            if missing := part.get("properties", {}).keys() - set(part.get("required", ())):
                words = "'required' is required to be supplied and to be an array including every key in properties."
                yield f"{where}, {words} Missing '{min(missing)}'."
            names += len(part.get("properties", {}))
    if names > 5000 or max(context.count("properties") for context, _ in parts) > 10:
        yield "the schema has too many properties or levels."


def _listed(kinds: Any) -> list[str]:
    return kinds if isinstance(kinds, list) else []


def _parts(schema: Any, context: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Yield the schema and all of its subschemas, each with its path."""
    if not isinstance(schema, Mapping):
        return
    yield context, schema
    for key in ("properties", "$defs", "definitions"):
        for name, part in (schema.get(key) or {}).items():
            yield from _parts(part, (*context, key, name))
    for key in ("anyOf", "oneOf", "allOf"):
        for number, part in enumerate(schema.get(key) or ()):
            yield from _parts(part, (*context, key, str(number)))
    for key in ("items", "additionalProperties"):
        yield from _parts(schema.get(key), (*context, key))
