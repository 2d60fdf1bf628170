"""Schemas of arguments in the forms that models and providers accept: concise, brief, compilable, with a plain root.

Arguments are always checked against the original schema.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools_app.json_schema.validation import resolve_reference

_DEFINITIONS = "#/$defs/"
_BOUNDS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "default", "examples")
_TRIFLES = {
    "minimum": (0, 1),
    "default": (False, 0, 1, ""),
    "additionalProperties": (False,),
}
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s(?=[A-Z])")
_MAX_SENTENCE_LENGTH = 200  # characters
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")
_MAX_GRAMMAR_LENGTH = 1_000
_ALTERNATIVES = ("anyOf", "oneOf", "enum")
_REFUSED = (*_ALTERNATIVES, "allOf", "not", "$ref")
_PLAIN_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_MAX_MERGE_DEPTH = 8  # levels of schemas that are merged into a root
_MAX_RULE_LENGTH = 600  # characters of a sentence
_NAMED = ("properties", "$defs", "definitions")  # their keys are names, not keywords


def concise(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without titles, without null for optional arguments, and with definitions inlined.

    A definition that refers to itself is not inlined.
    """
    definitions = schema.get("$defs", {})
    out = _concise({key: value for key, value in schema.items() if key != "$defs"}, definitions, ())
    if any(reference.startswith(_DEFINITIONS) for reference in _references(out)):
        return _concise(schema, {}, ())
    return out


def brief(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the same arguments in few words, for small context windows.

    Descriptions are reduced to their first sentence unless they explain an enum. Bounds are removed; calls are
    validated against them in any case.
    """
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _BOUNDS:
            continue
        if key == "description" and isinstance(value, str):
            out[key] = value if "enum" in schema else first_sentence(value)
        elif key in _NAMED:
            out[key] = {name: brief(item) if isinstance(item, dict) else item for name, item in value.items()}
        elif isinstance(value, dict):
            out[key] = brief(value)
        elif isinstance(value, list):
            out[key] = [brief(item) if isinstance(item, dict) else item for item in value]
        else:
            out[key] = value
    return out


def lean(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without keywords that tell a model little, such as lengths and the default false.

    They cost tokens in each request. Calls are validated against them in any case.
    """
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _LENGTHS or value in _TRIFLES.get(key, ()):
            continue
        if key in _NAMED and isinstance(value, dict):
            out[key] = {name: lean(item) if isinstance(item, dict) else item for name, item in value.items()}
        elif isinstance(value, dict):
            out[key] = lean(value)
        else:
            out[key] = value
    return out


def first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text, maxsplit=1)[0][:_MAX_SENTENCE_LENGTH]


def _concise(schema: Mapping[str, Any], definitions: Mapping[str, Any], enclosing: tuple[str, ...]) -> dict[str, Any]:
    """Return the concise schema. `enclosing` are the names of the enclosing definitions."""
    name = str(schema.get("$ref", "")).removeprefix(_DEFINITIONS)
    if name in definitions and name not in enclosing:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _concise({**definitions[name], **rest}, definitions, (*enclosing, name))
    out: dict[str, Any] = {}
    for key, value in _without_null(schema).items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            out[key] = {name: _concise(item, definitions, enclosing) for name, item in value.items()}
        elif isinstance(value, dict):
            out[key] = _concise(value, definitions, enclosing)
        elif isinstance(value, list):
            out[key] = [_concise(item, definitions, enclosing) if isinstance(item, dict) else item for item in value]
        else:
            out[key] = value
    return out


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remove null from an argument that is null by default. Calls with null are still accepted (`coercion`)."""
    if "default" not in schema or schema["default"] is not None:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("default", "anyOf")}
    options = [option for option in schema.get("anyOf", ()) if option != {"type": "null"}]
    if len(options) == 1:
        return {**options[0], **rest}
    return {"anyOf": options, **rest} if options else rest


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(reference := value.get("$ref"), str):
            yield reference
        for item in value.values():
            yield from _references(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)


def compilable(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without bounds that no grammar can express. Arguments are validated against them in any case.

    llama.cpp's server compiles the schemas of all tools into one grammar. It refuses every request with tools if one of
    them repeats something some 2,000 times, or has a pattern for a part of a text. Sources:
    github.com/ggml-org/llama.cpp/issues/26596 and /17473, _visit_pattern in its common/json-schema-to-grammar.cpp.
    """
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if _exceeds_grammar(key, value):
            continue
        if key in _NAMED and isinstance(value, dict):
            out[key] = {name: compilable(item) if isinstance(item, dict) else item for name, item in value.items()}
        elif isinstance(value, dict) and key not in ("const", "default"):
            out[key] = compilable(value)
        elif isinstance(value, list) and key in ("anyOf", "oneOf", "allOf"):
            out[key] = [compilable(item) if isinstance(item, dict) else item for item in value]
        else:
            out[key] = value
    return out


def _exceeds_grammar(key: str, value: Any) -> bool:
    if key == "pattern":
        return isinstance(value, str) and not (value.startswith("^") and value.endswith("$"))
    return key in _LENGTHS and isinstance(value, int) and value >= _MAX_GRAMMAR_LENGTH


# --- a plain root --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PlainRoot:
    """The `schema` that models see, with a plain object with plain names at its root.

    OpenAI and Anthropic refuse every request with a tool whose schema has another root. The description states the
    rules that a plain root cannot express. Sources: github.com/nspady/google-calendar-mcp/issues/39 (OpenAI:
    alternatives), github.com/RooCodeInc/Roo-Code/pull/10726 (Anthropic: alternatives),
    github.com/decocms/studio/pull/6874 (Anthropic: names, at the root only).

    `names` maps the names that it changes to the original ones.
    """

    schema: dict[str, Any]
    names: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()  # arguments of an alternative: null leaves them out

    def restored(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call under their original names."""
        return {
            self.names.get(name, name): value
            for name, value in arguments.items()
            if value is not None or name not in self.optional
        }


def plain_root(schema: dict[str, Any]) -> PlainRoot:
    """Return the schema with a plain root. A plain schema is unchanged."""
    if not any(key in schema for key in _REFUSED):
        return _with_plain_names(PlainRoot(schema=schema))
    members = _merged(schema, schema, 0)
    own_names = schema.get("properties", {}).keys()
    out = {key: value for key, value in schema.items() if key not in (*_REFUSED, "required")}
    if out.get("additionalProperties") is False and members.properties.keys() - own_names:
        del out["additionalProperties"]
    description = " ".join(filter(None, [schema.get("description", ""), *_rules(schema)]))
    out |= {"type": "object", "properties": members.properties}
    if description:
        out["description"] = description
    if members.required:
        out["required"] = list(members.required)
    optional = members.properties.keys() - own_names - set(members.required)
    return _with_plain_names(PlainRoot(schema=_without_dangling_references(out, out), optional=frozenset(optional)))


# --- merging alternatives into one object --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _ObjectMembers:
    properties: dict[str, Any]
    required: dict[str, None]  # in their order


def _merged(schema: Any, root: Mapping[str, Any], level: int) -> _ObjectMembers:
    """Return all members that an object can have. If several schemas describe a name, the outermost one counts."""
    if not isinstance(schema, Mapping) or level > _MAX_MERGE_DEPTH:
        return _ObjectMembers(properties={}, required={})
    properties = dict(schema.get("properties", {}))
    required = dict.fromkeys(schema.get("required", ()))
    reference = schema.get("$ref")
    referenced = resolve_reference(reference, root) if isinstance(reference, str) else None
    for part in [referenced, *schema.get("allOf", ())]:
        inner = _merged(part, root, level + 1)
        properties, required = inner.properties | properties, required | inner.required
    for options in _alternatives(schema):
        inner = _any_of([_merged(option, root, level + 1) for option in options])
        properties, required = inner.properties | properties, required | inner.required
    return _ObjectMembers(properties={name: {} for name in required} | properties, required=required)


def _alternatives(schema: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the alternatives of each keyword, as schemas."""
    for key in ("anyOf", "oneOf"):
        if options := [option for option in schema.get(key, ()) if option is not False]:
            yield options
    options = [
        {"properties": {name: {"const": item} for name, item in value.items()}, "required": list(value)}
        for value in schema.get("enum", ())
        if isinstance(value, Mapping)
    ]
    if options:
        yield options


def _any_of(options: Sequence[_ObjectMembers]) -> _ObjectMembers:
    names = dict.fromkeys(name for option in options for name in option.properties)
    described = {name: [option.properties[name] for option in options if name in option.properties] for name in names}
    required = {name: None for name in names if all(name in option.required for option in options)}
    properties = {name: _either(schemas) for name, schemas in described.items()}
    return _ObjectMembers(properties=properties, required=required)


def _either(schemas: Sequence[Any]) -> Any:
    """Return a schema for either. Constants, such as the names of kinds, become one enum."""
    distinct = [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]
    constants = [_constant(schema) for schema in distinct]
    if len(distinct) > 1 and all(isinstance(constant, str) for constant in constants):
        return {"type": "string", "enum": list(dict.fromkeys(constants))}
    return {"anyOf": distinct} if len(distinct) > 1 else distinct[0]


def _constant(schema: Any) -> Any:
    """Return the value of a constant, or None for any other schema."""
    if not isinstance(schema, Mapping):
        return None
    allowed = [schema["const"]] if "const" in schema else schema.get("enum", ())
    return allowed[0] if len(allowed) == 1 else None


def _without_dangling_references(part: Any, root: Mapping[str, Any]) -> Any:
    """Replace references to removed definitions by a schema that accepts any value."""
    if isinstance(part, list):
        return [_without_dangling_references(item, root) for item in part]
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("$ref"), str) and resolve_reference(part["$ref"], root) is None:
        return {}
    return {key: _without_dangling_references(value, root) for key, value in part.items()}


# --- rules in words ------------------------------------------------------------------------------------------------


def _rules(schema: Mapping[str, Any]) -> Iterator[str]:
    sentences = [
        *(_choice(schema, "oneOf", "exactly one"), _choice(schema, "anyOf", "at least one")),
        f"Together they must be one of {json.dumps(schema['enum'])}." if "enum" in schema else "",
        f"Together they must not fit the JSON Schema {json.dumps(schema['not'])}." if "not" in schema else "",
    ]
    yield from (sentence for sentence in sentences if 0 < len(sentence) <= _MAX_RULE_LENGTH)


def _choice(schema: Mapping[str, Any], key: str, how_many: str) -> str:
    """Return the rule as a sentence, or "" if the required members do not tell the alternatives apart."""
    options = [_merged(option, schema, 0) for option in schema.get(key, ()) if option is not False]
    if len(options) < 2:
        return ""
    shared = _any_of(options).required
    groups = [" and ".join(_required_members(option, shared)) for option in options]
    return f"Give {how_many} of these: {'; '.join(groups)}." if all(groups) else ""


def _required_members(option: _ObjectMembers, shared: Iterable[str]) -> Iterator[str]:
    for name in option.required:
        value = _constant(option.properties[name])
        if value is not None:
            yield f"`{name}` {json.dumps(value)}"
        elif name not in shared:
            yield f"`{name}`"


# --- names ---------------------------------------------------------------------------------------------------------


def _with_plain_names(root: PlainRoot) -> PlainRoot:
    properties = root.schema.get("properties", {})
    renamed: dict[str, str] = {}
    for name in properties:
        if not _PLAIN_NAME.fullmatch(name):
            renamed[name] = _free_name(name, {*properties, *renamed.values()})
    if not renamed:
        return root
    out = root.schema | {"properties": {renamed.get(name, name): item for name, item in properties.items()}}
    if "required" in out:
        out["required"] = [renamed.get(name, name) for name in out["required"]]
    optional = frozenset(renamed.get(name, name) for name in root.optional)
    names = {new: old for old, new in renamed.items()}
    return PlainRoot(schema=_without_dangling_references(out, out), names=names, optional=optional)


def _free_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)[:60] or "_"
    numbered = (f"{plain}_{number}" for number in range(2, len(taken) + 3))
    return next(free for free in (plain, *numbered) if free not in taken)
