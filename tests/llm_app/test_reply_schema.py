"""The schema of a constrained reply: it accepts everything that a tool's schema accepts, in widely supported keywords."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_app.adapters.json_schema import reply_schema
from llm_app.types import ToolSpec
from tools_app.contract import registry

UNDERSTOOD = {
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "$ref",
    "$defs",
}
REAL = tuple(
    ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters) for tool in registry.all_tools()
)


def spec(name: str, **parameters: Any) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={"type": "object"} | parameters)


def arguments_schema(**parameters: Any) -> Any:
    return reply_schema([spec("t", **parameters)])["anyOf"][0]["properties"]["arguments"]


def accepts(schema: Any, tool: str, arguments: Any) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid({"tool": tool, "arguments": arguments})


def keywords(schema: Any) -> set[str]:
    """Return all keywords at any depth, without names of properties and definitions."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for key, value in schema.items():
        for item in value.values() if key in ("properties", "$defs") else value if isinstance(value, list) else [value]:
            found |= keywords(item)
    return found


def test_the_real_tools_need_only_common_keywords():
    schema = reply_schema(REAL)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert keywords(schema) <= UNDERSTOOD


@pytest.mark.parametrize(
    ("tool", "arguments", "fits"),
    [
        ("message", {"type": "result", "text": "Done.", "suggestions": ["a"]}, True),
        ("message", {"type": "result", "text": "Done.", "options": None}, False),
        ("message", {"type": "shout", "text": "Done."}, False),
        ("message", {"text": "Done."}, False),
        ("message", {"type": "info", "text": "Done.", "loud": True}, False),
        ("plan", {"action": "update", "steps": [{"title": "a", "status": "done"}]}, True),
        ("plan", {"action": "update", "steps": [{"status": "done"}]}, False),
        ("shell", {"command": "ls", "timeout_s": 3}, True),
        ("shell", {"command": ["ls"]}, False),
        ("rocket", {}, False),
    ],
)
def test_reply_schema_accepts_only_calls_of_the_real_tools(tool, arguments, fits):
    assert accepts(reply_schema(REAL), tool, arguments) is fits


def test_definitions_of_two_tools_with_the_same_name_stay_apart():
    def tool(name: str, kind: str) -> ToolSpec:
        return spec(name, **{"$defs": {"Step": {"type": kind}}, "properties": {"step": {"$ref": "#/$defs/Step"}}})

    schema = reply_schema([tool("a", "string"), tool("b", "integer")])
    assert len(schema["$defs"]) == 2
    assert accepts(schema, "a", {"step": "x"})
    assert not accepts(schema, "a", {"step": 1})
    assert accepts(schema, "b", {"step": 1})


@pytest.mark.parametrize(
    ("given_schema", "plain"),
    [
        ({"type": "string", "minLength": 1, "pattern": "a+", "format": "date", "default": "x", "title": "T"}, {"type": "string"}),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, {"type": "integer"}),
        ({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"allOf": [{"type": "string"}]}, {"type": "string"}),
        ({"allOf": [{"type": "string"}, {"minLength": 3}]}, {}),
        ({"$ref": "#"}, {}),
        ({"$ref": "http://127.0.0.1/x"}, {}),
        ({"not": {"type": "string"}}, {}),
        (True, {}),
        ({"type": "array", "items": {"type": "string", "minLength": 3}, "maxItems": 3}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array"}, {"type": "array"}),
        ({"type": "object"}, {"type": "object", "additionalProperties": True}),
        ({"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "properties": {}, "required": [], "additionalProperties": False}),
    ],
)  # fmt: skip
def test_uncommon_keywords_are_omitted(given_schema, plain):
    assert arguments_schema(properties={"a": given_schema})["properties"]["a"] == plain


def test_a_property_may_be_called_like_a_keyword():
    properties = {"description": {"type": "string"}, "default": {"type": "string"}, "pattern": {"type": "string"}}
    assert arguments_schema(properties=properties)["properties"] == properties


def test_the_route_can_allow_more_keywords():
    schema = reply_schema([spec("t", properties={"a": {"type": "string", "minLength": 1}})], keywords=["minLength"])
    assert schema["anyOf"][0]["properties"]["arguments"]["properties"]["a"] == {"type": "string", "minLength": 1}


def test_the_tool_comes_before_its_arguments():
    """Then a model chooses the tool first, and the text of a message can stream."""
    assert list(reply_schema(REAL)["anyOf"][0]["properties"]) == ["tool", "arguments"]


simple = st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null")])
schemas = st.recursive(
    simple,
    lambda inner: st.one_of(
        inner.map(lambda items: {"type": "array", "items": items}),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
        st.dictionaries(st.text(max_size=4), inner, max_size=3).map(lambda p: {"type": "object", "properties": p}),
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=4), schemas, max_size=3))
@settings(deadline=None)
def test_any_schema_becomes_one_of_common_keywords(properties):
    schema = reply_schema([spec("t", properties=properties)])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert keywords(schema) <= UNDERSTOOD
    json.dumps(schema)
