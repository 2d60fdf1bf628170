"""Gemini's schemas: neither the real tools nor any other schema keep a keyword that Gemini rejects."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_app.adapters.schema_forms import openapi_form
from tests.contracts.gemini import schemas
from tests.llm_app.test_reply_schema import REAL
from tests.llm_app.test_reply_schema import schemas as any_schema


def refusal_of(parameters: Any) -> Any:
    function = {"name": "t"} | ({"parameters": parameters} if parameters else {})
    return schemas({"tools": [{"type": "function", "function": function}]}, {})


def form_of(part: Any, **root: Any) -> Any:
    return openapi_form({"type": "object", "properties": {"a": part}, "required": ["a"], **root})["properties"]["a"]


@pytest.mark.parametrize("tool", REAL, ids=lambda tool: tool.name)
def test_the_real_tools_are_accepted_and_keep_their_arguments(tool):
    form = openapi_form(tool.parameters)
    assert refusal_of(form) is None
    assert form["properties"].keys() == tool.parameters["properties"].keys()


@pytest.mark.parametrize(
    ("part", "form"),
    [
        ({"type": "string", "format": "uri", "title": "A", "default": "x"}, {"type": "string"}),
        ({"type": ["string", "null"], "maxLength": 3}, {"type": "string", "maxLength": 3, "nullable": True}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "n"},
         {"type": "integer", "description": "n", "nullable": True}),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"enum": [1, 2], "type": "integer"}, {"type": "integer"}),
        ({"type": "integer", "exclusiveMinimum": 0, "maximum": 9}, {"type": "integer", "maximum": 9}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object"}),
        ({"allOf": [{"type": "object", "properties": {"b": {"type": "string"}}}]},
         {"type": "object", "properties": {"b": {"type": "string"}}, "required": []}),
        ({"$ref": "#/$defs/N"}, {"type": "number"}),
        ({"$ref": "#/nowhere"}, {}),
    ],
)  # fmt: skip
def test_keywords_are_rewritten_or_omitted(part, form):
    assert form_of(part, **{"$defs": {"N": {"type": "number"}}}) == form


def test_a_recursive_schema_ends():
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}}}
    assert refusal_of(openapi_form({**node, "$defs": {"node": node}})) is None


def test_a_multiply_recursive_schema_stays_small():
    places = {f"place_{number}": {"$ref": "#/$defs/node"} for number in range(8)}
    node = {"type": "object", "description": "a node of many", "properties": places}
    form = openapi_form({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}})
    assert len(json.dumps(form)) < 1_000_000
    assert form["properties"]["tree"]["properties"]["place_7"]["properties"].keys() == places.keys()


def test_a_tool_without_arguments_has_no_schema():
    assert openapi_form({"type": "object", "properties": {}}) == {}


@given(st.dictionaries(st.text(max_size=4), any_schema, max_size=3))
@settings(deadline=None)
def test_any_schema_becomes_an_accepted_one(properties):
    assert refusal_of(openapi_form({"type": "object", "properties": properties})) is None
