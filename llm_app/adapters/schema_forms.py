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
_STRICT_KEYWORDS = ("type", "enum", "const", "description")
_UNSUPPORTED = (
    "oneOf",
    "allOf",
    "not",
    "if",
    "patternProperties",
    "prefixItems",
    "dependentSchemas",
    "unevaluatedProperties",
)


def strict_form(parameters: Mapping[str, Any], *, null_means_omitted: bool = False) -> dict[str, Any] | None:
    """Return the strict form of a schema, or None if it has none.

    In strict mode every object lists all of its fields, and all of them are required. So an optional field must be
    nullable. With `null_means_omitted`, null stands for every omitted field; then the code that reads the arguments
    must drop nulls (`tools_app/json_schema/validation` does).
    """
    try:
        form = _StrictForm(null_means_omitted)
        definitions = {name: form.schema(item) for name, item in parameters.get("$defs", {}).items()}
        return form.schema(parameters) | ({"$defs": definitions} if definitions else {})
    except _NoStrictForm:
        return None


class _NoStrictForm(Exception):
    """Strict mode cannot express this schema."""


@dataclass(frozen=True)
class _StrictForm:
    null_means_omitted: bool

    def schema(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping) or any(key in schema for key in _UNSUPPORTED):
            raise _NoStrictForm
        if "$ref" in schema:
            return _reference(schema["$ref"])
        if self.null_means_omitted and isinstance(schema.get("type"), list):
            schema = _with_alternatives(schema)
        out = {key: schema[key] for key in _STRICT_KEYWORDS if key in schema}
        if "anyOf" in schema:
            out["anyOf"] = [self.schema(item) for item in schema["anyOf"]]
        elif schema.get("type") == "array":
            out["items"] = self.schema(schema.get("items"))
        elif schema.get("type") == "object":
            out |= self._object_members(schema)
        elif not out.keys() - {"description"}:
            raise _NoStrictForm
        return out

    def _object_members(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        properties = schema.get("properties", {})
        if not properties or schema.get("additionalProperties"):
            raise _NoStrictForm
        optional = properties.keys() - set(schema.get("required", ()))
        inner = {
            name: self._optional(item) if name in optional else self.schema(item) for name, item in properties.items()
        }
        return {"properties": inner, "required": list(inner), "additionalProperties": False}

    def _optional(self, schema: Any) -> dict[str, Any]:
        if _is_nullable(schema):
            return self.schema(schema)
        if not self.null_means_omitted:
            raise _NoStrictForm
        form = self.schema(schema)
        form.pop("description", None)
        description = {"description": schema["description"]} if "description" in schema else {}
        return description | {"anyOf": [form, {"type": "null"}]}


def _reference(reference: str) -> dict[str, Any]:
    """Return a reference without its sibling keywords, which OpenAI rejects ("$ref cannot have keywords").

    Only references to definitions stay valid. Source: github.com/camel-ai/camel/issues/3001.
    """
    if reference != "#" and not re.fullmatch("#/[$]defs/[^/]+", reference):
        raise _NoStrictForm
    return {"$ref": reference}


def _with_alternatives(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with a list of types as alternatives, each with the keywords of its type."""
    if not {"object", "array"}.intersection(schema["type"]):
        return schema
    description = {"description": schema["description"]} if "description" in schema else {}
    shared = {key: value for key, value in schema.items() if key not in ("type", "description")}
    kinds = [shared if kind in ("object", "array") else {} for kind in schema["type"]]
    return description | {"anyOf": [{**part, "type": kind} for part, kind in zip(kinds, schema["type"], strict=True)]}


def _is_nullable(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    kinds = schema.get("type")
    return (
        kinds == "null"
        or (isinstance(kinds, list) and "null" in kinds)
        or any(map(_is_nullable, schema.get("anyOf", ())))
    )


# --- OpenAPI -------------------------------------------------------------------------------------------------------

# fmt: off
_OPENAPI_KEYWORDS = (
    "type", "description", "nullable", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum",
    "minLength", "maxLength", "pattern",
)
# fmt: on
_MAX_DEPTH = 12  # levels; recursive schemas end there, or earlier if they become too large
_MAX_SIZE = 256 * 1024  # characters, about; accepted schemas without references are smaller
_PART_OVERHEAD = 20  # characters per part, apart from its texts


def openapi_form(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema in the keywords of OpenAPI, the only ones that Gemini accepts; empty if it has no properties.

    Other keywords are rewritten or omitted. Source: ai.google.dev/api/caching#Schema.
    """
    if not parameters.get("properties"):
        return {}
    for deepest in range(_MAX_DEPTH, 0, -1):
        with suppress(_TooLarge):
            return _OpenAPIForm(parameters, deepest).schema(parameters, 0)
    return {}


class _TooLarge(Exception):
    """A schema with several references to itself doubles its size at each level."""


class _OpenAPIForm:
    def __init__(self, root: Mapping[str, Any], deepest: int) -> None:
        self._root, self._max_depth, self._size_left = root, deepest, _MAX_SIZE

    def schema(self, schema: Any, level: int) -> dict[str, Any]:
        """Return the schema in OpenAPI's keywords.

        Raises: _TooLarge.
        """
        if not isinstance(schema, Mapping) or level > self._max_depth:
            return {}
        schema = self._merged(schema)
        self._size_left -= _PART_OVERHEAD + sum(
            len(str(schema.get(key, ""))) for key in ("description", "enum", "pattern")
        )
        if self._size_left < 0:
            raise _TooLarge
        kinds = schema.get("type")
        if isinstance(kinds, Sequence) and not isinstance(kinds, str):
            return self._alternatives(schema, [{**schema, "type": kind} for kind in kinds], level)
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return self._alternatives(schema, options, level)
        return self._keywords_of(schema, level)

    def _merged(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Merge a schema with its reference and with the schemas of `allOf`."""
        parts = [self._referenced(schema["$ref"])] if "$ref" in schema else []
        parts += [part for part in schema.get("allOf", ()) if isinstance(part, Mapping)]
        merged: dict[str, Any] = {}
        for part in [*parts, schema]:
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            required = [*merged.get("required", ()), *part.get("required", ())]
            merged |= {**part, "properties": properties, "required": required}
        return merged

    def _referenced(self, reference: str) -> Mapping[str, Any]:
        referenced: Any = self._root
        for name in reference.removeprefix("#/").split("/"):
            referenced = referenced.get(name, {}) if isinstance(referenced, Mapping) else {}
        return referenced if isinstance(referenced, Mapping) else {}

    def _alternatives(self, schema: Mapping[str, Any], options: Sequence[Any], level: int) -> dict[str, Any]:
        """Return alternatives.

        Null is a keyword there, not a type. A single remaining alternative replaces the list.
        """
        description = {"description": schema["description"]} if "description" in schema else {}
        forms = [self.schema(option, level + 1) for option in options if not _is_null(option)]
        may_be_null = {"nullable": True} if len(forms) < len(options) else {}
        if len(forms) == 1:
            return forms[0] | description | may_be_null
        return ({"anyOf": forms} if forms else {}) | description | may_be_null

    def _keywords_of(self, schema: Mapping[str, Any], level: int) -> dict[str, Any]:
        out = {key: schema[key] for key in _OPENAPI_KEYWORDS if key in schema}
        allowed = [schema["const"]] if "const" in schema else schema.get("enum", [])
        if allowed and all(isinstance(value, str) for value in allowed):
            out |= {"type": "string", "enum": list(allowed)}
        if schema.get("type") == "array":
            out["items"] = self.schema(schema.get("items"), level + 1) or {"type": "string"}
        if schema["properties"]:
            out["properties"] = {name: self.schema(part, level + 1) for name, part in schema["properties"].items()}
            out["required"] = [name for name in schema["required"] if name in schema["properties"]]
        return out


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "null"
