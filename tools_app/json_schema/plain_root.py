"""Schemas of arguments with a plain object with plain names at their root.

OpenAI and Anthropic refuse every request with a tool whose schema has another root. The description states the rules
that a plain root cannot express, and arguments are checked against the original schema. Sources:
github.com/nspady/google-calendar-mcp/issues/39 (OpenAI: alternatives), github.com/RooCodeInc/Roo-Code/pull/10726
(Anthropic: alternatives), github.com/decocms/studio/pull/6874 (Anthropic: names, at the root only).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools_app.json_schema.coercion import resolved

_ALTERNATIVES = ("anyOf", "oneOf", "enum")
_REFUSED = (*_ALTERNATIVES, "allOf", "not", "$ref")
_PLAIN_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_DEEPEST = 8  # levels of schemas that are merged into a root
_LONGEST = 600  # characters of a sentence


@dataclass(frozen=True, kw_only=True)
class PlainRoot:
    """The `schema` that models see, and the original names of the arguments that it renames."""

    schema: dict[str, Any]
    names: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()  # arguments of an alternative: null leaves them out

    def restored(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call under their original names."""
        present = (item for item in given.items() if item[1] is not None or item[0] not in self.optional)
        return {self.names.get(name, name): value for name, value in present}


def plain_root(schema: dict[str, Any]) -> PlainRoot:
    """Return the schema with a plain root. A plain schema is unchanged."""
    if not any(key in schema for key in _REFUSED):
        return _with_plain_names(PlainRoot(schema=schema))
    members = _members(schema, schema, 0)
    own = schema.get("properties", {})
    out = {key: value for key, value in schema.items() if key not in (*_REFUSED, "required")}
    if out.get("additionalProperties") is False and members.properties.keys() - own.keys():
        del out["additionalProperties"]
    about = " ".join(filter(None, [schema.get("description", ""), *_rules(schema)]))
    out |= {"type": "object", "properties": members.properties} | ({"description": about} if about else {})
    out |= {"required": list(members.required)} if members.required else {}
    optional = members.properties.keys() - own.keys() - set(members.required)
    return _with_plain_names(PlainRoot(schema=_without_lost_references(out, out), optional=frozenset(optional)))


# --- merging alternatives into one object --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Members:
    properties: dict[str, Any]
    required: dict[str, None]  # in their order


def _members(given: Any, root: Mapping[str, Any], level: int) -> _Members:
    """Return all members that an object can have. If several schemas describe a name, the outermost one counts."""
    if not isinstance(given, Mapping) or level > _DEEPEST:
        return _Members(properties={}, required={})
    properties = dict(given.get("properties", {}))
    required = dict.fromkeys(given.get("required", ()))
    for part in [_referred(given, root), *given.get("allOf", ())]:
        inner = _members(part, root, level + 1)
        properties, required = inner.properties | properties, required | inner.required
    for options in _alternatives(given):
        inner = _any_of([_members(option, root, level + 1) for option in options])
        properties, required = inner.properties | properties, required | inner.required
    return _Members(properties={name: {} for name in required} | properties, required=required)


def _referred(given: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    return resolved(given["$ref"], root) if isinstance(given.get("$ref"), str) else None


def _alternatives(given: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the alternatives of each keyword, as schemas."""
    for key in ("anyOf", "oneOf"):
        if options := [option for option in given.get(key, ()) if option is not False]:
            yield options
    if options := [_exactly(value) for value in given.get("enum", ()) if isinstance(value, Mapping)]:
        yield options


def _exactly(value: Mapping[str, Any]) -> dict[str, Any]:
    return {"properties": {name: {"const": item} for name, item in value.items()}, "required": list(value)}


def _any_of(options: Sequence[_Members]) -> _Members:
    names = dict.fromkeys(name for option in options for name in option.properties)
    described = {name: [option.properties[name] for option in options if name in option.properties] for name in names}
    required = {name: None for name in names if all(name in option.required for option in options)}
    return _Members(properties={name: _either(schemas) for name, schemas in described.items()}, required=required)


def _either(schemas: Sequence[Any]) -> Any:
    """Return a schema for either. Constants, such as the names of kinds, become one enum."""
    distinct = [schema for place, schema in enumerate(schemas) if schema not in schemas[:place]]
    words = [_only_value(schema) for schema in distinct]
    if len(distinct) > 1 and all(isinstance(word, str) for word in words):
        return {"type": "string", "enum": list(dict.fromkeys(words))}
    return {"anyOf": distinct} if len(distinct) > 1 else distinct[0]


def _only_value(schema: Any) -> Any:
    """Return the value of a constant, or None for any other schema."""
    if not isinstance(schema, Mapping):
        return None
    allowed = [schema["const"]] if "const" in schema else schema.get("enum", ())
    return allowed[0] if len(allowed) == 1 else None


def _without_lost_references(part: Any, root: Mapping[str, Any]) -> Any:
    """Replace references to removed definitions by a schema that accepts any value."""
    if isinstance(part, list):
        return [_without_lost_references(item, root) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("$ref"), str) and resolved(part["$ref"], root) is None:
        return {}
    return {key: _without_lost_references(value, root) for key, value in part.items()}


# --- rules in words ------------------------------------------------------------------------------------------------


def _rules(schema: Mapping[str, Any]) -> Iterator[str]:
    sentences = [
        *(_choice(schema, "oneOf", "exactly one"), _choice(schema, "anyOf", "at least one")),
        f"Together they must be one of {json.dumps(schema['enum'])}." if "enum" in schema else "",
        f"Together they must not fit the JSON Schema {json.dumps(schema['not'])}." if "not" in schema else "",
    ]
    yield from (sentence for sentence in sentences if 0 < len(sentence) <= _LONGEST)


def _choice(schema: Mapping[str, Any], key: str, how_many: str) -> str:
    """Return the rule as a sentence, or "" if the required members do not tell the alternatives apart."""
    options = [_members(option, schema, 0) for option in schema.get(key, ()) if option is not False]
    if len(options) < 2:
        return ""
    shared = _any_of(options).required
    groups = [" and ".join(_needed(option, shared)) for option in options]
    return f"Give {how_many} of these: {'; '.join(groups)}." if all(groups) else ""


def _needed(option: _Members, shared: Iterable[str]) -> Iterator[str]:
    for name in option.required:
        value = _only_value(option.properties[name])
        if value is not None:
            yield f"`{name}` {json.dumps(value)}"
        elif name not in shared:
            yield f"`{name}`"


# --- names ---------------------------------------------------------------------------------------------------------


def _with_plain_names(root: PlainRoot) -> PlainRoot:
    properties = root.schema.get("properties", {})
    odd = [name for name in properties if not _PLAIN_NAME.fullmatch(name)]
    if not odd:
        return root
    shown: dict[str, str] = {}
    for name in odd:
        shown[name] = _free_name(name, {*properties, *shown.values()})
    out = root.schema | {"properties": {shown.get(name, name): item for name, item in properties.items()}}
    if "required" in out:
        out["required"] = [shown.get(name, name) for name in out["required"]]
    optional = frozenset(shown.get(name, name) for name in root.optional)
    names = {new: old for old, new in shown.items()}
    return PlainRoot(schema=_without_lost_references(out, out), names=names, optional=optional)


def _free_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)[:60] or "_"
    numbered = (f"{plain}_{number}" for number in range(2, len(taken) + 3))
    return next(free for free in (plain, *numbered) if free not in taken)
