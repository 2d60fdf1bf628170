"""Tests of foreign tools with a root that providers refuse: they are sent with a plain root, and checked by the
original.
"""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry

from llm_app.adapters.schema_forms import strict_form
from tests.contracts import anthropic_request, openai_tools
from tests.tools_app.test_mcp_arguments import NAMES, schemas, sent, tool, values
from tools_app.contract import ToolVisibility
from tools_app.errors import InvalidArguments

KINDS = {
    "oneOf": [
        {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
        {"properties": {"kind": {"const": "text"}, "text": {"type": "string"}}, "required": ["kind", "text"]},
    ]
}
ODD = {
    "properties": {"filter[id]": {"type": "integer"}, "filter_id_": {"type": "integer"}, "x" * 80: {"type": "string"}},
    "required": ["filter[id]"],
}
REQUIRED = {
    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    "not": {"required": ["a", "b"]},
}
NAMED = {
    "$ref": "#/definitions/Request",
    "definitions": {"Request": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}},
}
_CASES = [
    (KINDS, {"kind": "text", "text": "a"}, {"kind": "text", "text": "a"}),
    (KINDS, {"kind": "text", "text": "a", "path": None}, {"kind": "text", "text": "a"}),
    (KINDS, {"kind": "text", "path": "a"}, None),
    (ODD, {"filter_id__2": "5", "filter_id_": 6, "x" * 60: "y"}, {"filter[id]": 5, "filter_id_": 6, "x" * 80: "y"}),
    (ODD, {"filter[id]": 5}, {"filter[id]": 5}),
    (REQUIRED, {"a": "1"}, {"a": "1"}),
    (REQUIRED, {"a": "1", "b": "2"}, None),
    (NAMED, {"q": "1"}, {"q": "1"}),
    (NAMED, {}, None),
    ({"allOf": [REQUIRED, {"properties": {"c": {"type": "integer"}}}]}, {"b": "x", "c": "1"}, {"b": "x", "c": 1}),
    ({"enum": [{"do": "start"}, {"do": "stop"}]}, {"do": "stop"}, {"do": "stop"}),
    ({"enum": [{"do": "start"}, {"do": "stop"}]}, {"do": "wait"}, None),
]
CASES = [({"type": "object"} | schema, arguments, meant) for schema, arguments, meant in _CASES]  # as MCP requires


def shown(schema: Any) -> dict[str, Any]:
    definition = tool(schema)
    assert definition is not None
    return definition.parameters_in(ToolVisibility())


def refusals(parameters: dict[str, Any]) -> list[str]:
    named: dict[str, Any] = {"name": "t", "description": ""}
    strict = strict_form(parameters, null_means_omitted=True)
    forms = [{"parameters": parameters}, *([{"parameters": strict, "strict": True}] if strict else [])]
    openai = [openai_tools.bad_tool([named | form]) for form in forms]
    anthropic = anthropic_request.tools({"tools": [{"name": "t", "input_schema": parameters}]}, {})
    return [refusal.message for refusal in (*openai, anthropic) if refusal]


@pytest.mark.parametrize(("schema", "arguments", "meant"), CASES)
def test_plain_root_is_accepted_and_checked_by_the_original(schema: Any, arguments: Any, meant: Any) -> None:
    definition = tool(schema)
    assert definition is not None
    assert refusals(shown(schema)) == []
    if meant is None:
        with pytest.raises(InvalidArguments):
            sent(definition, json.dumps(arguments))
    else:
        assert sent(definition, json.dumps(arguments)) == meant


def test_alternatives_become_one_object_with_rules() -> None:
    assert shown({"type": "object"} | KINDS) == {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["file", "text"]},
            "path": {"type": "string"},
            "text": {"type": "string"},
        },
        "required": ["kind"],
        "description": 'Give exactly one of these: `kind` "file" and `path`; `kind` "text" and `text`.',
    }
    assert shown({"type": "object"} | REQUIRED)["description"] == (
        'Give at least one of these: `a`; `b`. Together they must not fit the JSON Schema {"required": ["a", "b"]}.'
    )


def test_plain_schema_is_unchanged() -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "type": "object"}
    assert shown(schema) == schema


several = st.lists(schemas, min_size=1, max_size=3)
roots = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from(NAMES), schemas, max_size=3),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "additionalProperties": schemas,
        **dict.fromkeys(("anyOf", "oneOf", "allOf"), several),
        "enum": st.lists(st.dictionaries(st.sampled_from(NAMES), values, max_size=2), min_size=1, max_size=2),
        "not": schemas,
        "$ref": st.sampled_from(["#", "#/$defs/a", "#/properties/a"]),
        "$defs": st.fixed_dictionaries({"a": schemas}),
    },
)


@settings(max_examples=100, deadline=None)
@given(roots, st.dictionaries(st.sampled_from(NAMES), values, max_size=4))
def test_any_root_is_accepted_and_only_valid_arguments_are_sent(schema: Any, arguments: Any) -> None:
    if (definition := tool(schema)) is None:
        return
    assert refusals(definition.parameters_in(ToolVisibility())) == []
    try:
        given_to_server = sent(definition, json.dumps(arguments))
    except InvalidArguments:
        return
    validator = jsonschema.Draft202012Validator(definition.parameters, registry=Registry())
    assert validator.is_valid(given_to_server)
