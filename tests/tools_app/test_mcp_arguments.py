"""Property tests: for any legal schema of a server's tool, either the sent arguments fit or the call is refused."""

import json
from collections.abc import Coroutine
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry

from llm_app.adapters.json_schema import reply_schema
from llm_app.adapters.schema_forms import strict_form
from llm_app.types import ToolSpec
from tools_app.contract import ToolDefinition, ToolVisibility, base
from tools_app.errors import InvalidArguments
from tools_app.json_schema import validation
from tools_app.mcp.arguments import fitted_arguments
from tools_app.mcp.listing import listing_of
from tools_app.mcp.tool import mcp_tool

KINDS = ["object", "array", "string", "integer", "number", "boolean", "null"]
NAMES = ["a", "b", "type", "$ref", "properties", "pattern", "model_dump", "a/b", "x~y", "ü %"]
REFERENCES = ["#", "#/$defs/a", "#/$defs/b", "#/$defs/a~1b", "#/properties/a", "#/properties/a/anyOf/1"]

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["5", " -1", "2.5", "true", "null", "[1]", '{"a": "1"}', "NaN", "x", "1e999", '["1e9", [1e999]]'])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
leaves = (
    st.booleans()
    | st.builds(lambda kind: {"type": kind}, st.sampled_from(KINDS) | st.lists(st.sampled_from(KINDS), min_size=1, unique=True))
    | st.builds(lambda value: {"const": value}, values)
    | st.builds(lambda options: {"enum": options}, st.lists(values, min_size=1, max_size=3))
    | st.builds(lambda to: {"$ref": to}, st.sampled_from(REFERENCES))
    | st.sampled_from([{}, {"minimum": 3}, {"multipleOf": 0.1}, {"pattern": "^[a-z]+$"}, {"uniqueItems": True}])
)  # fmt: skip


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    keywords = {
        "type": st.sampled_from(["object", "array", ["array", "null"]]),
        "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "x"]), inner, max_size=1),
        "items": inner,
        "prefixItems": several,
        "not": inner,
        "anyOf": several,
        "oneOf": several,
        "allOf": several,
    }
    return st.fixed_dictionaries({}, optional=keywords)


schemas = st.recursive(leaves, _deeper, max_leaves=6)
roots = st.fixed_dictionaries(
    {},
    optional={
        "properties": st.dictionaries(st.sampled_from(NAMES), schemas, min_size=1, max_size=4),
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "additionalProperties": schemas,
        "allOf": st.lists(schemas, min_size=1, max_size=2),
        "$defs": st.fixed_dictionaries({"a": schemas, "b": schemas, "a/b": schemas}),
    },
)


def tool(schema: Any) -> ToolDefinition | None:
    """Return the listed tool, or None if its schema is refused, such as one with a dangling reference."""
    listed = listing_of("s", {"tools": [{"name": "t", "description": "", "inputSchema": schema}]}).tools
    return next(
        (
            mcp_tool(server="s", tool="t", description="", schema=each.schema, digest="", danger="moderate")
            for each in listed
        ),
        None,
    )


def sent(definition: ToolDefinition, text: str) -> dict[str, Any]:
    """Return the arguments that the server gets. The child's work runs here, and any error of it counts as
    no answer.
    """

    def here(work: Coroutine[Any, Any, Any]) -> dict[str, Any]:
        work.close()
        try:
            request = {
                "schema": definition.parameters,
                "value": base.parse(text),
                "name": "arguments",
                "coerce": True,
            }
            return validation.answer(request, b"")
        except Exception:
            return {"faults": ["no answer"]}

    return fitted_arguments(definition, base.read_arguments(definition, text), here).model_dump(mode="json")


@settings(max_examples=300, deadline=None)
@given(roots, st.dictionaries(st.sampled_from(NAMES), values, max_size=4))
def test_sent_arguments_fit_the_schema_or_are_refused(schema, arguments):
    definition = tool(schema)
    if definition is None:
        return
    spec = ToolSpec(name="t", description="", parameters=definition.parameters_in(ToolVisibility()))
    reply_schema([spec]), strict_form(spec.parameters)  # the tool can be sent in each protocol
    try:
        given = sent(definition, json.dumps(arguments))
    except InvalidArguments:
        return
    assert jsonschema.Draft202012Validator(definition.parameters, registry=Registry()).is_valid(given)
    json.dumps(given, allow_nan=False)


@settings(max_examples=100, deadline=None)
@given(roots, st.dictionaries(st.sampled_from(NAMES), values, max_size=4))
def test_valid_arguments_are_not_refused(schema, arguments):
    definition = tool(schema)
    if definition is None:
        return
    try:
        fits = jsonschema.Draft202012Validator(definition.parameters, registry=Registry()).is_valid(arguments)
    except Exception:  # such as RecursionError
        return
    except BaseException as error:  # rpds can raise it as a panic
        if type(error).__name__ != "PanicException":
            raise
        return
    if fits:
        sent(definition, json.dumps(arguments))


@pytest.mark.parametrize(
    ("schema", "value", "meant"),
    [
        (True, "5", "5"),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["string", "integer"]}, "5", "5"),
        ({"type": ["array", "null"], "items": {"type": "integer"}}, '["1", 2]', [1, 2]),
        ({"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}, ["1", "true"], [1, True]),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "5", 5),
        ({"anyOf": [{"const": "a"}, {"type": "integer"}]}, "5", 5),
        ({"type": "object", "properties": {"n": {"type": "integer"}}, "anyOf": [{"required": ["n"]}]}, {"n": "1"}, {"n": 1}),
        ({"type": "array", "items": {"type": "string"}}, "[1e999]", None),
    ],
)  # fmt: skip
def test_values_are_coerced_to_their_schema(schema, value, meant):
    definition = tool({"properties": {"a": schema}})
    assert definition is not None
    if meant is None and schema.get("type") == "array":
        with pytest.raises(InvalidArguments, match="arguments.a"):
            sent(definition, json.dumps({"a": value}))
    else:
        assert sent(definition, json.dumps({"a": value})) == {"a": meant}


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "-Infinity", '{"b": [1e999]}', "[" * 200 + "]" * 200])
def test_infinite_numbers_and_deep_values_are_refused(text):
    definition = tool({})
    assert definition is not None
    with pytest.raises(InvalidArguments):
        sent(definition, f'{{"a": {text}}}')


def test_references_can_be_recursive_and_point_anywhere():
    looping = tool({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}})
    assert looping is not None
    with pytest.raises(InvalidArguments, match="nested too deeply"):
        sent(looping, '{"a": 1}')
    tree = tool(
        {"properties": {"a": {"$ref": "#/$defs/a~1b"}},
         "$defs": {"a/b": {"properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/a%7E1b"}}}}}
    )  # fmt: skip
    assert tree is not None
    assert sent(tree, '{"a": {"n": "1", "next": {"n": "2"}}}') == {"a": {"n": 1, "next": {"n": 2}}}


def test_infinite_schema_is_refused_at_any_stack_depth():
    definition = tool(
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"not": {"not": {"$ref": "#/$defs/a"}}}}}
    )
    assert definition is not None

    def deeper(frames: int) -> None:
        if frames:
            deeper(frames - 1)
        else:
            with pytest.raises(InvalidArguments, match="nested too deeply"):
                sent(definition, '{"a": 1}')

    for frames in range(20):
        deeper(frames)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/s", "file:///etc/passwd", "other.json", "//host/s"])
def test_nothing_is_fetched_for_a_reference(address):
    assert tool({"properties": {"a": {"$ref": address}}}) is None
    answer = {"schema": {"properties": {"a": {"$ref": address}}}, "value": {"a": 1}, "name": "a", "coerce": True}
    with pytest.raises(jsonschema.exceptions._WrappedReferencingError):  # the child gives no answer
        validation.answer(answer, b"")
