"""Forms of JSON Schemas that providers accept: the strict form, which models cannot violate, and OpenAPI's.

Arguments are validated against the complete schema later in any case.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

# --- strict --------------------------------------------------------------------------------------------------------

# Keywords that OpenAI and Anthropic both enforce or allow. Others are omitted.
_PLAIN = ("type", "enum", "const", "description")
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


def strict_form(parameters: Mapping[str, Any], *, null_is_none: bool = False) -> dict[str, Any] | None:
    """Return the strict form of a schema, or None if it has none.

    In strict mode every object lists all of its fields, and all of them are required. So an optional field must be
    nullable. With `null_is_none`, null stands for every omitted field; then the code that reads the arguments must drop
    nulls (`tools_app/json_schema/validation` does).
    """
    try:
        form = _Strict(null_is_none)
        definitions = {name: form.schema(item) for name, item in parameters.get("$defs", {}).items()}
        return form.schema(parameters) | ({"$defs": definitions} if definitions else {})
    except _Unsaid:
        return None


class _Unsaid(Exception):
    """Strict mode cannot express this schema."""


@dataclass(frozen=True)
class _Strict:
    null_is_none: bool

    def schema(self, given: Any) -> dict[str, Any]:
        if not isinstance(given, Mapping) or any(key in given for key in _UNSAID):
            raise _Unsaid
        if "$ref" in given:
            return _reference(given["$ref"])
        if self.null_is_none and isinstance(given.get("type"), list):
            given = _with_alternatives(given)
        out = {key: given[key] for key in _PLAIN if key in given}
        if "anyOf" in given:
            out["anyOf"] = [self.schema(item) for item in given["anyOf"]]
        elif given.get("type") == "array":
            out["items"] = self.schema(given.get("items"))
        elif given.get("type") == "object":
            out |= self._members(given)
        elif not out.keys() - {"description"}:
            raise _Unsaid
        return out

    def _members(self, given: Mapping[str, Any]) -> dict[str, Any]:
        properties = given.get("properties", {})
        if not properties or given.get("additionalProperties"):
            raise _Unsaid
        optional = properties.keys() - set(given.get("required", ()))
        inner = {
            name: self._optional(item) if name in optional else self.schema(item) for name, item in properties.items()
        }
        return {"properties": inner, "required": list(inner), "additionalProperties": False}

    def _optional(self, given: Any) -> dict[str, Any]:
        if _may_be_null(given):
            return self.schema(given)
        if not self.null_is_none:
            raise _Unsaid
        form = self.schema(given)
        form.pop("description", None)
        about = {"description": given["description"]} if "description" in given else {}
        return about | {"anyOf": [form, {"type": "null"}]}


def _reference(place: str) -> dict[str, Any]:
    """Return a reference without its sibling keywords, which OpenAI rejects ("$ref cannot have keywords").

    Only references to definitions stay valid. Source: github.com/camel-ai/camel/issues/3001.
    """
    if place != "#" and not re.fullmatch("#/[$]defs/[^/]+", place):
        raise _Unsaid
    return {"$ref": place}


def _with_alternatives(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with a list of types as alternatives, each with the keywords of its type."""
    if not {"object", "array"}.intersection(given["type"]):
        return given
    about = {"description": given["description"]} if "description" in given else {}
    shared = {key: value for key, value in given.items() if key not in ("type", "description")}
    kinds = [shared if kind in ("object", "array") else {} for kind in given["type"]]
    return about | {"anyOf": [{**part, "type": kind} for part, kind in zip(kinds, given["type"], strict=True)]}


def _may_be_null(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(map(_may_be_null, schema.get("anyOf", ())))
    )


# --- OpenAPI -------------------------------------------------------------------------------------------------------

# fmt: off
_OPENAPI = (
    "type", "description", "nullable", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum",
    "minLength", "maxLength", "pattern",
)
# fmt: on
_DEEPEST = 12  # levels; recursive schemas end there, or earlier if they become too large
_MOST = 256 * 1024  # characters, about; accepted schemas without references are smaller
_FRAME = 20  # characters per part, apart from its texts


def openapi_form(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in the keywords of OpenAPI, the only ones that Gemini accepts; empty if it has no properties.

    Other keywords are rewritten or omitted. Source: ai.google.dev/api/caching#Schema.
    """
    if not parameters.get("properties"):
        return {}
    for deepest in range(_DEEPEST, 0, -1):
        with suppress(_TooLarge):
            return _OpenAPI(parameters, deepest).schema(parameters, 0)
    return {}


class _TooLarge(Exception):
    """A schema with several references to itself doubles its size at each level."""


class _OpenAPI:
    def __init__(self, root: Mapping[str, Any], deepest: int) -> None:
        self._root, self._deepest, self._left = root, deepest, _MOST

    def schema(self, given: Any, level: int) -> dict[str, Any]:
        """Return the schema in OpenAPI's keywords.

        Raises: _TooLarge.
        """
        if not isinstance(given, Mapping) or level > self._deepest:
            return {}
        given = self._whole(given)
        self._left -= _FRAME + sum(len(str(given.get(key, ""))) for key in ("description", "enum", "pattern"))
        if self._left < 0:
            raise _TooLarge
        kinds = given.get("type")
        if isinstance(kinds, Sequence) and not isinstance(kinds, str):
            return self._either(given, [{**given, "type": kind} for kind in kinds], level)
        if options := given.get("anyOf") or given.get("oneOf"):
            return self._either(given, options, level)
        return self._simple(given, level)

    def _whole(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Merge a schema with its reference and with the schemas of `allOf`."""
        parts = [self._referred(given["$ref"])] if "$ref" in given else []
        parts += [part for part in given.get("allOf", ()) if isinstance(part, Mapping)]
        whole: dict[str, Any] = {}
        for part in [*parts, given]:
            properties = {**whole.get("properties", {}), **part.get("properties", {})}
            required = [*whole.get("required", ()), *part.get("required", ())]
            whole |= {**part, "properties": properties, "required": required}
        return whole

    def _referred(self, reference: str) -> Mapping[str, Any]:
        found: Any = self._root
        for name in reference.removeprefix("#/").split("/"):
            found = found.get(name, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    def _either(self, given: Mapping[str, Any], options: Sequence[Any], level: int) -> dict[str, Any]:
        """Return alternatives.

        Null is a keyword there, not a type. A single remaining alternative replaces the list.
        """
        about = {"description": given["description"]} if "description" in given else {}
        forms = [self.schema(option, level + 1) for option in options if not _is_null(option)]
        may_be_null = {"nullable": True} if len(forms) < len(options) else {}
        if len(forms) == 1:
            return forms[0] | about | may_be_null
        return ({"anyOf": forms} if forms else {}) | about | may_be_null

    def _simple(self, given: Mapping[str, Any], level: int) -> dict[str, Any]:
        out = {key: given[key] for key in _OPENAPI if key in given}
        allowed = [given["const"]] if "const" in given else given.get("enum", [])
        if allowed and all(isinstance(value, str) for value in allowed):
            out |= {"type": "string", "enum": list(allowed)}
        if given.get("type") == "array":
            out["items"] = self.schema(given.get("items"), level + 1) or {"type": "string"}
        if given["properties"]:
            out["properties"] = {name: self.schema(part, level + 1) for name, part in given["properties"].items()}
            out["required"] = [name for name in given["required"] if name in given["properties"]]
        return out


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"
