"""JSON Schemas that local servers compile into grammars: unsupported schemas, and replies that fit a schema."""

import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

_TYPES = frozenset({"string", "number", "integer", "boolean", "null", "object", "array"})
_MOST_REPETITIONS = 2_000


def parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and all of its subschemas."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions"):
        for part in schema.get(key, {}).values():
            yield from parts(part)
    for key in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(key, ()):
            yield from parts(part)
    for key in ("items", "additionalProperties"):
        yield from parts(schema.get(key))


def llama_cpp_fault(root: Mapping[str, Any]) -> str:
    """Sources: common/json-schema-to-grammar.cpp in github.com/ggml-org/llama.cpp (references, patterns, types), its
    issues /26596 and /17473 and github.com/unslothai/unsloth/pull/9923 (repetitions)."""
    for schema in parts(root):
        if (reference := schema.get("$ref")) and _resolved(root, reference) is None:
            return f"JSON schema conversion failed:\nUnsupported ref: {reference}"
        pattern = schema.get("pattern", "^$")
        if not (pattern.startswith("^") and pattern.endswith("$")):
            return "JSON schema conversion failed:\nPattern must start with '^' and end with '$'"
        kinds = schema.get("type", "null")
        if not _TYPES.issuperset(kinds if isinstance(kinds, list) else [kinds]):
            return f"JSON schema conversion failed:\nUnrecognized schema: {schema}"
        if any(schema.get(bound, 0) >= _MOST_REPETITIONS for bound in ("maxLength", "minLength", "maxItems")):
            return "Failed to initialize samplers: failed to parse grammar"
    return ""


def xgrammar_fault(root: Mapping[str, Any]) -> str:
    """Source: has_xgrammar_unsupported_json_features in github.com/vllm-project/vllm
    (vllm/v1/structured_output/backend_xgrammar.py), as of 0.11: newer ones know more."""
    wrong = {"multipleOf", "uniqueItems", "contains", "minContains", "maxContains", "format", "pattern"}
    wrong |= {"minProperties", "maxProperties", "propertyNames", "patternProperties"}
    if any(wrong & schema.keys() for schema in parts(root)):
        return "The provided JSON schema contains features not supported by xgrammar."
    return ""


def _resolved(root: Any, reference: str) -> Any:
    if not reference.startswith("#/"):
        return None
    for name in reference.removeprefix("#/").split("/"):
        root = root.get(name) if isinstance(root, Mapping) else None
    return root


def constrained_reply(root: Mapping[str, Any], chance: Random) -> Any:
    """Return any value that the schema allows, like a model that understands nothing else."""
    return _value(root, root, chance, depth=0)


def _value(schema: Mapping[str, Any], root: Any, chance: Random, *, depth: int) -> Any:
    if reference := schema.get("$ref"):
        return _value(_resolved(root, reference), root, chance, depth=depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if options := schema.get("anyOf", ()):
        return _value(chance.choice(options), root, chance, depth=depth + 1)
    if schema.get("type") == "object" or "properties" in schema:
        return _object(schema, root, chance, depth=depth)
    if schema.get("type") == "array":
        many = range(0 if depth > 6 else chance.randrange(3))
        return [_value(schema.get("items", {}), root, chance, depth=depth + 1) for _ in many]
    return _plain(schema.get("type", "string"), chance)


def _object(schema: Mapping[str, Any], root: Any, chance: Random, *, depth: int) -> dict[str, Any]:
    required = schema.get("required", ())
    names = [name for name in schema.get("properties", {}) if name in required or (depth < 6 and chance.random() < 0.5)]
    return {name: _value(schema["properties"][name], root, chance, depth=depth + 1) for name in names}


def _plain(kind: str, chance: Random) -> Any:
    words = ["", "the", 'a "quoted" word', "two\nlines", "ü☂", "</invoke>", "{", "The the the"]
    plain = {"integer": chance.randrange(-3, 100), "number": 0.5, "boolean": chance.random() < 0.5, "null": None}
    return plain.get(kind, re.sub("^$", "x", chance.choice(words)))
