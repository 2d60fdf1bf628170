"""Short forms of schemas for models: without pydantic's additions, and in few words."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLACE = "#/$defs/"
_BOUNDS = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "default", "examples")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s(?=[A-Z])")
_LONGEST_SENTENCE = 200  # characters
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")
_LONG = 1_000
_NAMED = ("properties", "$defs", "definitions")  # their keys are names, not keywords


def concise(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without titles, without null for optional arguments, and with definitions inlined.

    A definition that refers to itself is not inlined.
    """
    shared = schema.get("$defs", {})
    out = _concise({key: value for key, value in schema.items() if key != "$defs"}, shared, ())
    if any(reference.startswith(_PLACE) for reference in _references(out)):
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
        elif key in ("properties", "$defs", "definitions"):
            out[key] = {name: brief(item) if isinstance(item, dict) else item for name, item in value.items()}
        elif isinstance(value, dict):
            out[key] = brief(value)
        elif isinstance(value, list):
            out[key] = [brief(item) if isinstance(item, dict) else item for item in value]
        else:
            out[key] = value
    return out


def first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text, maxsplit=1)[0][:_LONGEST_SENTENCE]


def _concise(schema: Mapping[str, Any], shared: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
    """Return the concise schema. `inside` are the names of the enclosing definitions."""
    name = str(schema.get("$ref", "")).removeprefix(_PLACE)
    if name in shared and name not in inside:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _concise({**shared[name], **rest}, shared, (*inside, name))
    out: dict[str, Any] = {}
    for key, value in _without_null(schema).items():
        if key == "title" and isinstance(value, str):
            continue
        if key in ("properties", "$defs"):
            out[key] = {name: _concise(item, shared, inside) for name, item in value.items()}
        elif isinstance(value, dict):
            out[key] = _concise(value, shared, inside)
        elif isinstance(value, list):
            out[key] = [_concise(item, shared, inside) if isinstance(item, dict) else item for item in value]
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
        if _is_beyond_grammars(key, value):
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


def _is_beyond_grammars(key: str, value: Any) -> bool:
    if key == "pattern":
        return isinstance(value, str) and not (value.startswith("^") and value.endswith("$"))
    return key in _LENGTHS and isinstance(value, int) and value >= _LONG
