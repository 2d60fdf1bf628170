"""Tests of coercion: a model's arguments become what the schema means, or a clear error."""

import json
import math
from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from tools_app.contract import Arguments, Danger, Target, ToolContext, ToolDefinition, ToolResult, base
from tools_app.errors import InvalidArguments
from tools_app.json_schema.validation import coerce


class Point(Arguments):
    x: int
    y: int = 0


class Everything(Arguments):
    text: str | None = None
    count: int | None = None
    ratio: float | None = None
    flag: bool | None = None
    names: list[str] | None = None
    numbers: list[int] | None = None
    point: Point | None = None
    points: list[Point] | None = None
    options: dict[str, int] | None = None
    kind: Literal["a", "b"] | None = None
    either: int | str | None = None
    bounded: int | None = Field(None, ge=1, le=10)


async def _nothing(arguments: Any, context: ToolContext) -> ToolResult:
    return ToolResult(content="")


TOOL = ToolDefinition(
    name="t", description="", arguments=Everything, handler=_nothing, danger=Danger.SAFE, target=Target.ENGINE
)


def read(**arguments: Any) -> dict[str, Any]:
    return base.read_arguments(TOOL, json.dumps(arguments)).model_dump(exclude_none=True)


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ({"count": "3"}, {"count": 3}),
        ({"count": " -3 "}, {"count": -3}),
        ({"count": 3.0}, {"count": 3}),
        ({"ratio": "0.5"}, {"ratio": 0.5}),
        ({"ratio": "1e3"}, {"ratio": 1000.0}),
        ({"ratio": 2}, {"ratio": 2.0}),
        ({"flag": "true"}, {"flag": True}),
        ({"flag": "False"}, {"flag": False}),
        ({"flag": False}, {"flag": False}),
        ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
        ({"numbers": ["1", 2, "3"]}, {"numbers": [1, 2, 3]}),
        ({"point": '{"x": "4"}'}, {"point": {"x": 4, "y": 0}}),
        ({"points": [{"x": "1"}, '{"x": 2}']}, {"points": [{"x": 1, "y": 0}, {"x": 2, "y": 0}]}),
        ({"options": {"a": "1"}}, {"options": {"a": 1}}),
        ({"either": "7"}, {"either": "7"}),
        ({"either": 7}, {"either": 7}),
        ({"text": "null"}, {"text": "null"}),
        ({"text": "12"}, {"text": "12"}),
        ({"count": None}, {}),
        ({"count": "null"}, {}),
        ({"kind": "a"}, {"kind": "a"}),
        ({"text": '{"x": 1}'}, {"text": '{"x": 1}'}),
        ({}, {}),
    ],
)
def test_valid_arguments_are_coerced(given_value, expected):
    assert read(**given_value) == expected


@pytest.mark.parametrize(
    ("given_value", "place"),
    [
        ({"count": True}, "count"),
        ({"count": "1_000"}, "count"),
        ({"count": "1,000"}, "count"),
        ({"count": "3.5"}, "count"),
        ({"count": 3.5}, "count"),
        ({"count": "0x10"}, "count"),
        ({"count": "٣"}, "count"),
        ({"count": ""}, "count"),
        ({"count": [3]}, "count"),
        ({"ratio": "nan"}, "ratio"),
        ({"ratio": "inf"}, "ratio"),
        ({"ratio": "1e999"}, "ratio"),
        ({"ratio": True}, "ratio"),
        ({"flag": 1}, "flag"),
        ({"flag": "yes"}, "flag"),
        ({"text": 5}, "text"),
        ({"text": ["a"]}, "text"),
        ({"names": "a, b"}, "names"),
        ({"names": [1]}, "names"),
        ({"point": "x=1"}, "point"),
        ({"point": {"y": 1}}, "point.x"),
        ({"point": [1, 2]}, "point"),
        ({"kind": "c"}, "kind"),
        ({"bounded": "-1"}, "bounded"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_invalid_arguments_are_refused_with_their_path(given_value, place):
    with pytest.raises(InvalidArguments) as error:
        read(**given_value)
    assert place in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"text": "cut o',
        '{"text": NaN}',
        '{"count": Infinity}',
        "[1]",
        '"text"',
        "null",
        "true",
        "3",
        "[" * 100_000,
    ],
)
def test_incomplete_objects_are_refused(text):
    with pytest.raises(InvalidArguments):
        base.read_arguments(TOOL, text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=12,
)
names = st.sampled_from([*Everything.model_fields, "other"])


class Optional(Arguments):
    """Members that can be left out, but are never null."""

    flag: bool = False
    count: int = Field(3, ge=1)
    kind: Literal["a", "b"] = "a"
    points: list[Point] = []


@pytest.mark.parametrize("null", [None, "null"])
@pytest.mark.parametrize("name", ["flag", "count", "kind", "points"])
def test_null_omits_an_optional_argument(name, null):
    tool = replace(TOOL, arguments=Optional)
    assert base.read_arguments(tool, json.dumps({name: null})) == Optional()


def test_null_omits_nested_optional_members_only():
    tool = replace(TOOL, arguments=Optional)
    assert base.read_arguments(tool, '{"points": [{"x": 1, "y": null}]}') == Optional(points=[Point(x=1)])
    with pytest.raises(InvalidArguments, match=r"points\.0\.x"):
        base.read_arguments(tool, '{"points": [{"x": null}]}')


@given(st.dictionaries(names, json_values, max_size=4))
def test_any_input_is_valid_or_refused(arguments):
    try:
        value = base.read_arguments(TOOL, json.dumps(arguments))
    except InvalidArguments:
        return
    assert isinstance(value, Everything)


@given(st.dictionaries(names, json_values, max_size=4))
def test_coercion_is_idempotent(arguments):
    once = coerce(arguments, TOOL.parameters)
    assert coerce(once, TOOL.parameters) == once


@given(st.integers(-(2**50), 2**50))
def test_integer_text_becomes_an_integer(number):
    assert read(count=str(number)) == {"count": number}


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_number_text_becomes_a_number(number):
    assert math.isclose(read(ratio=str(number))["ratio"], number, rel_tol=1e-9)


valid = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(),
        "count": st.integers(-(10**9), 10**9),
        "flag": st.booleans(),
        "names": st.lists(st.text(), max_size=3),
        "point": st.fixed_dictionaries({"x": st.integers(-99, 99)}),
    },
)


@given(valid)
def test_valid_values_are_unchanged(arguments):
    assert coerce(arguments, TOOL.parameters) == arguments
