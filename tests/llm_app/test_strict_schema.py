"""Strict calls: values of the strict form fit the original schema, and schemas without a strict form stay unchanged."""

import json

import jsonschema
import pytest

from llm_app.adapters.schema_forms import strict_form
from llm_app.protocols import adapter_for
from llm_app.types import Prompt, ToolSpec
from tests.llm_app.test_requests import parameters

NULLABLE = {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "default": None}
FITS = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}, "b": NULLABLE}, "required": ["a"]}


def test_every_field_is_required_and_no_other_is_allowed():
    assert strict_form(FITS) == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_values_of_the_strict_form_fit_the_schema():
    shared = {"$defs": {"x": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}}
    given = {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "required": ["x"], **shared}
    strict = strict_form(given)
    for value in ({"x": {"n": 1}}, {"x": {}}, {"x": {"n": "1"}}, {}):
        assert not jsonschema.Draft202012Validator(strict).is_valid(value) or (
            jsonschema.Draft202012Validator(given).is_valid(value)
        )
    assert jsonschema.Draft202012Validator(strict).is_valid({"x": {"n": 1}})


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"oneOf": [{"type": "string"}]},
        {"type": "array"},
        {},
        True,
    ],
    ids=["any object", "any names", "a field that may lack", "oneOf", "any items", "anything", "true"],
)
def test_unsupported_schemas_have_no_strict_form(part):
    assert strict_form({"type": "object", "properties": {"p": part}, "required": ["p"]}) is None


def test_a_reference_has_no_sibling_keywords():
    shared = {"x": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
    parts = {name: {"$ref": "#/$defs/x", "description": f"The {name}."} for name in ("first", "second")}
    given = {"type": "object", "properties": parts, "required": ["first"], "$defs": shared}
    assert strict_form(given, null_means_omitted=True)["properties"] == {
        "first": {"$ref": "#/$defs/x"},
        "second": {"description": "The second.", "anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]},
    }


@pytest.mark.parametrize("place", ["#/definitions/x", "#/properties/list/items", "#/$defs/x/properties/n"])
def test_a_dangling_reference_has_no_strict_form(place):
    shared = {"x": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    parts = {"p": {"$ref": place}, "list": {"type": "array", "items": {"type": "string"}}}
    given = {"type": "object", "properties": parts, "required": ["p"], "$defs": shared, "definitions": shared}
    assert strict_form(given, null_means_omitted=True) is None


def test_optional_fields_are_nullable_if_null_means_omitted():
    count = {"type": "integer", "default": 5, "description": "How many."}
    given = {"type": "object", "properties": {"a": {"type": "string"}, "n": count}, "required": ["a"]}
    assert strict_form(given) is None
    strict = strict_form(given, null_means_omitted=True)
    assert strict is not None
    assert strict["required"] == ["a", "n"]
    assert strict["properties"]["n"] == {
        "description": "How many.",
        "anyOf": [{"type": "integer"}, {"type": "null"}],
    }


def test_a_nullable_object_keeps_its_fields():
    part = {"type": ["object", "null"], "properties": {"n": {"type": "integer"}}, "required": ["n"], "description": "d"}
    given = {"type": "object", "properties": {"p": part}, "required": ["p"]}
    fields = {"properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
    assert strict_form(given, null_means_omitted=True)["properties"]["p"] == {
        "description": "d",
        "anyOf": [{"type": "object", **fields}, {"type": "null"}],
    }


def test_a_list_of_nullable_values_keeps_their_type():
    given = {"type": "object", "properties": {"p": {"type": ["array", "null"], "items": {"type": "string"}}}}
    values = {"type": "array", "items": {"type": "string"}}
    assert strict_form(given, null_means_omitted=True)["properties"]["p"] == {"anyOf": [values, {"type": "null"}]}


@pytest.mark.parametrize("protocol", ["openai_native", "anthropic_native"])
def test_strict_tools_need_the_quirk_and_a_strict_form(protocol):
    tools = [ToolSpec(name=name, description="", parameters=p) for name, p in (("a", FITS), ("b", {"type": "object"}))]
    prompt = Prompt(system="s", tools=tools, messages=())

    def sent(**fields):
        body = json.loads(adapter_for(protocol).body(prompt, parameters(**fields)))
        return [tool.get("function", tool).get("strict", False) for tool in body["tools"]]

    assert sent(quirks={"strict_tools": True}) == [True, False]
    assert sent() == [False, False]
