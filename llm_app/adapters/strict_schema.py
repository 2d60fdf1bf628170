"""The form of a schema that providers take as strict: then what the model writes fits it by construction."""

from collections.abc import Mapping
from typing import Any

# What OpenAI and Anthropic both enforce or allow. Other keywords are left out: arguments are checked by us in any case.
_PLAIN = ("type", "enum", "const", "description", "$ref")
_UNSAID = (
    "oneOf",
    "allOf",
    "not",
    "if",
    "patternProperties",
    "prefixItems",
    "dependentSchemas",
    "unevaluatedProperties",
)


def strict_form(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """`parameters` as strict mode takes them; None for what it cannot say.

    There every object names all of its fields, and all are required: one that may be left out must be one that may be
    null, for only then do both say the same.
    """
    try:
        definitions = {name: _strict(item) for name, item in parameters.get("$defs", {}).items()}
        return _strict(parameters) | ({"$defs": definitions} if definitions else {})
    except _Unsaid:
        return None


class _Unsaid(Exception):
    """Strict mode has no words for it."""


def _strict(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or any(key in given for key in _UNSAID):
        raise _Unsaid
    out = {key: given[key] for key in _PLAIN if key in given}
    if "anyOf" in given:
        out["anyOf"] = [_strict(item) for item in given["anyOf"]]
    elif given.get("type") == "array":
        out["items"] = _strict(given.get("items"))
    elif given.get("type") == "object":
        out |= _members(given)
    elif not out.keys() - {"description"}:
        raise _Unsaid
    return out


def _members(given: Mapping[str, Any]) -> dict[str, Any]:
    properties = given.get("properties", {})
    optional = properties.keys() - set(given.get("required", ()))
    if (
        not properties
        or given.get("additionalProperties")
        or not all(_may_be_null(properties[name]) for name in optional)
    ):
        raise _Unsaid
    inner = {name: _strict(item) for name, item in properties.items()}
    return {"properties": inner, "required": list(inner), "additionalProperties": False}


def _may_be_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(map(_may_be_null, schema.get("anyOf", ())))
    )
