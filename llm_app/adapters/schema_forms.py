"""Forms of a schema that providers take: the strict one, which what a model writes fits by construction, and OpenAPI's.

Arguments are checked by us against the whole schema in any case.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

# --- strict --------------------------------------------------------------------------------------------------------

# What OpenAI and Anthropic both enforce or allow. Other keywords are left out.
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
    """`parameters` as strict mode takes them; None for what it cannot say.

    There every object names all of its fields, and all are required: one that may be left out must be one that may be
    null, for only then do both say the same. With `null_is_none`, which whoever reads the arguments must know
    (`tools_app/json_schema/coercion` does), null says of every such field that it is left out.
    """
    try:
        form = _Strict(null_is_none)
        definitions = {name: form.schema(item) for name, item in parameters.get("$defs", {}).items()}
        return form.schema(parameters) | ({"$defs": definitions} if definitions else {})
    except _Unsaid:
        return None


class _Unsaid(Exception):
    """Strict mode has no words for it."""


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
    """Without what stands beside it, which OpenAI refuses: github.com/camel-ai/camel/issues/3001 ("$ref cannot have
    keywords"). Only definitions are where they were."""
    if place != "#" and not re.fullmatch("#/[$]defs/[^/]+", place):
        raise _Unsaid
    return {"$ref": place}


def _with_alternatives(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list of types as alternatives, each with what is said of its type."""
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
_DEEPEST = 12  # levels; a schema that contains itself ends there, or earlier where it would be too large
_MOST = 256 * 1024  # characters, about; no schema without references that we accept has so many
_FRAME = 20  # characters of a part beside its words


def openapi_form(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """`parameters` in the keywords of OpenAPI's schemas, which Gemini takes alone; empty if there are none.

    Other keywords are rewritten or left out. Source: ai.google.dev/api/caching#Schema.
    """
    if not parameters.get("properties"):
        return {}
    for deepest in range(_DEEPEST, 0, -1):
        with suppress(_TooLarge):
            return _OpenAPI(parameters, deepest).schema(parameters, 0)
    return {}


class _TooLarge(Exception):
    """What refers to itself in several places doubles with each level."""


class _OpenAPI:
    def __init__(self, root: Mapping[str, Any], deepest: int) -> None:
        self._root, self._deepest, self._left = root, deepest, _MOST

    def schema(self, given: Any, level: int) -> dict[str, Any]:
        """Raises _TooLarge."""
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
        """With what it refers to, and with all that it must fit at once."""
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
        """Null is no type of its own there. Where one option is left, it is the schema."""
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
